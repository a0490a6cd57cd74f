/* A Jacobi solver: rows are dealt out to ranks, which trade their borders with the ranks above and below. */
#include <mpi.h>

#define MPI_CHECK(call) do { int error = (call); if (error != MPI_SUCCESS) MPI_Abort(MPI_COMM_WORLD, error); } while (0)

int main(int argc, char **argv) {
    int rank, size;
    MPI_CHECK(MPI_Init(&argc, &argv));
    MPI_CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    MPI_CHECK(MPI_Comm_size(MPI_COMM_WORLD, &size));
    int top = rank > 0 ? rank - 1 : MPI_PROC_NULL;
    int bottom = rank + 1;
    if (bottom >= size)
        bottom = MPI_PROC_NULL;
    for (int step = 0; step < 1000; step++) {
        relax(u, v, rows, columns);
        MPI_CHECK(MPI_Sendrecv(v + columns, columns, MPI_DOUBLE, top, 0, v + (rows + 1) * columns, columns,
                               MPI_DOUBLE, bottom, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        MPI_CHECK(MPI_Sendrecv(v + rows * columns, columns, MPI_DOUBLE, bottom, 1, v, columns, MPI_DOUBLE, top, 1,
                               MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        swap(&u, &v);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
