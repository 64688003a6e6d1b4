# libberth: the rank map. libberth-mpi: its communicators over MPI.
noinst_LTLIBRARIES += libberth-core.la
libberth_core_la_SOURCES = \
	lib/berth.h lib/error.c lib/error.h lib/mesh.c lib/mesh.h lib/map.h \
	lib/map.c lib/map_query.c lib/map_read.c lib/map_write.c lib/map_pack.c \
	lib/map_finish.c lib/map_index.h lib/shape.c lib/ranges.c lib/sha256.c lib/sha256.h \
	lib/scan.c lib/scan.h lib/file.c lib/file.h
libberth_core_la_LIBADD = $(JANSSON_LIBS) $(ZLIB_LIBS)

lib_LTLIBRARIES += libberth.la
libberth_la_SOURCES = lib/version.c
libberth_la_LIBADD = libberth-core.la
libberth_la_LDFLAGS = -version-info 0:0:0 -Wl,--version-script=$(srcdir)/lib/libberth.map
libberth_la_DEPENDENCIES = libberth-core.la $(srcdir)/lib/libberth.map
include_HEADERS += lib/berth.h
pkgconfig_DATA += lib/berth.pc
EXTRA_DIST += lib/libberth.map lib/libberth-mpi.map

if HAVE_MPI
noinst_LTLIBRARIES += libberth-mpi-core.la
libberth_mpi_core_la_SOURCES = lib/berth_mpi.c
libberth_mpi_core_la_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS)
lib_LTLIBRARIES += libberth-mpi.la
libberth_mpi_la_SOURCES = lib/error.c
libberth_mpi_la_LIBADD = libberth-mpi-core.la libberth.la $(MPI_LIBS)
libberth_mpi_la_LDFLAGS = -version-info 0:0:0 -Wl,--version-script=$(srcdir)/lib/libberth-mpi.map
include_HEADERS += lib/berth_mpi.h
else
EXTRA_DIST += lib/berth_mpi.c lib/berth_mpi.h
endif
