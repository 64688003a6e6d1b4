# berth-step: replays a training step's communication on the map's communicators.
if HAVE_MPI
bin_PROGRAMS += berth-step
berth_step_SOURCES = step/berth-step.c step/replay.c step/replay.h step/links.c step/links.h \
	step/transfer.c step/transfer.h step/statistics.c step/statistics.h
dist_man_MANS += man/berth-step.1
berth_step_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS)
berth_step_LDADD = libberth-mpi-core.la libplacement.la $(HWLOC_LIBS) $(MPI_LIBS)
else
EXTRA_DIST += man/berth-step.1
endif
