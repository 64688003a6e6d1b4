# The engine, and its command.
noinst_LTLIBRARIES += libplacement-core.la libplacement.la
libplacement_core_la_SOURCES = \
	placement/hostlist.c placement/hostlist.h \
	placement/cluster.c placement/cluster.h \
	placement/read_topology.c placement/read_nodes.c \
	placement/read_model.c placement/write_model.c \
	placement/slurm.c placement/slurm.h placement/scontrol.c \
	placement/meshspec.c placement/meshspec.h placement/traffic.c placement/traffic.h \
	placement/job.c placement/job.h placement/cost.c placement/cost.h \
	placement/sequence.c placement/sequence.h placement/mapper.c placement/mapper.h \
	placement/plan.c placement/plan.h placement/units.c placement/units.h
libplacement_core_la_LIBADD = libberth-core.la -lm
# What needs hwloc stays apart: every srun loads the plugin and would load hwloc with it.
libplacement_la_SOURCES = placement/read_files.c placement/read_hwloc.c
libplacement_la_CFLAGS = $(AM_CFLAGS) $(HWLOC_CFLAGS)
libplacement_la_LIBADD = libplacement-core.la

bin_PROGRAMS += berth
berth_SOURCES = placement/berth.c placement/command.h placement/command.c placement/input.c \
	placement/cmd_map.c placement/cmd_topo.c placement/cmd_show.c placement/show.h \
	placement/show.c placement/show_text.c placement/show_json.c placement/show_svg.c \
	placement/drawing.c placement/drawing.h
dist_man_MANS += man/berth.1 man/berth-map.1 man/berth-topo.1 man/berth-show.1
berth_LDADD = libplacement.la $(HWLOC_LIBS)
