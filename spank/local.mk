# The Slurm plugin. What it decides is in libspankcore, without Slurm, so that tests can ask it.
noinst_LTLIBRARIES += libspankcore.la
libspankcore_la_SOURCES = \
	spank/options.c spank/options.h spank/srun_args.c spank/srun_args.h \
	spank/decide.c spank/decide.h spank/variables.c spank/variables.h \
	spank/note.c spank/note.h spank/mapfile.c spank/mapfile.h
libspankcore_la_LIBADD = libplacement-core.la

if HAVE_SLURM
plugindir = $(libdir)/berth
plugin_LTLIBRARIES = spank_berth.la
spank_berth_la_SOURCES = spank/plugin.c spank/plugin.h spank/request.c spank/srun.c spank/node.c \
	spank/solve.c spank/solve.h
spank_berth_la_CFLAGS = $(AM_CFLAGS) $(SLURM_CFLAGS)
spank_berth_la_LIBADD = libspankcore.la
spank_berth_la_LDFLAGS = -module -avoid-version -shared -Wl,-z,relro -Wl,-z,now \
	-Wl,--version-script=$(srcdir)/spank/spank_berth.map

dist_man_MANS += man/spank_berth.8
doc_DATA = contrib/berth.conf
CLEANFILES += contrib/berth.conf
contrib/berth.conf: $(srcdir)/contrib/berth.conf.in Makefile
	$(AM_V_GEN)$(MKDIR_P) contrib && sed 's|@plugindir@|$(plugindir)|' $(srcdir)/contrib/berth.conf.in >$@
else
EXTRA_DIST += man/spank_berth.8
endif
EXTRA_DIST += spank/spank_berth.map contrib/berth.conf.in
