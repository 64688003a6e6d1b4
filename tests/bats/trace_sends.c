/*
 * For step.bats, preloaded: writes every send ("send FROM TO BYTES", in ranks of MPI_COMM_WORLD)
 * and every barrier of this process to the file $TRACE.<rank>.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static FILE *out;
static int me;

int MPI_Init(int *argc, char ***argv)
{
    int result = PMPI_Init(argc, argv);
    char path[4096];

    PMPI_Comm_rank(MPI_COMM_WORLD, &me);
    snprintf(path, sizeof(path), "%s.%d", getenv("TRACE"), me);
    out = fopen(path, "w");
    return result;
}

int MPI_Isend(const void *buf, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request *request)
{
    MPI_Group group, world;
    int target, size;

    PMPI_Comm_group(comm, &group);
    PMPI_Comm_group(MPI_COMM_WORLD, &world);
    PMPI_Group_translate_ranks(group, 1, &to, world, &target);
    PMPI_Type_size(type, &size);
    fprintf(out, "send %d %d %d\n", me, target, count * size);
    return PMPI_Isend(buf, count, type, to, tag, comm, request);
}

int MPI_Ibarrier(MPI_Comm comm, MPI_Request *request)
{
    fprintf(out, "barrier\n");
    return PMPI_Ibarrier(comm, request);
}

int MPI_Finalize(void)
{
    fclose(out);
    return PMPI_Finalize();
}
