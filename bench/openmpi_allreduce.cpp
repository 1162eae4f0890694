// The peer of `collc run`: MPI_Allreduce, f32 sum, over a list of byte sizes; one JSON line a size with the median
// time.
//
//   mpicxx -O2 openmpi_allreduce.cpp && mpirun -n 2 a.out 8 1024 ...
//
// Timing is nccl-tests' manner, the same as `collc run`: a barrier, then `iterations` calls back to back, time per
// call; that five times over, the median of the five, the slowest rank's clock counts.
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int i = 1; i < argc; ++i) {
    const long bytes = std::atol(argv[i]);
    const int count = static_cast<int>(bytes / 4);
    std::vector<float> in(count, 1.0f + rank), out(count, -1.0f);
    // About a tenth of a second a repetition, at least 3 calls.
    const int iterations = static_cast<int>(std::clamp(200'000'000L / (bytes + 10'000), 3L, 2'000L));
    std::vector<double> seconds;
    for (int repetition = 0; repetition < 6; ++repetition) {
      MPI_Barrier(MPI_COMM_WORLD);
      const double start = MPI_Wtime();
      for (int k = 0; k < iterations; ++k) {
        MPI_Allreduce(in.data(), out.data(), count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
      }
      double mine = (MPI_Wtime() - start) / iterations, slowest = 0;
      MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
      if (repetition > 0) seconds.push_back(slowest);  // the first one warms caches and connections up
    }
    const float expected = static_cast<float>(ranks) * (ranks + 1) / 2;
    const bool wrong = std::any_of(out.begin(), out.end(), [&](float x) { return x != expected; });
    std::sort(seconds.begin(), seconds.end());
    const double median = seconds[seconds.size() / 2];
    const double busbw = bytes / median * 2 * (ranks - 1) / ranks / 1e9;
    if (rank == 0) {
      std::printf("{\"size\": %ld, \"time_us\": %.3f, \"busbw_gbps\": %.4f, \"wrong\": %s}\n", bytes, median * 1e6,
                  busbw, wrong ? "true" : "false");
      std::fflush(stdout);
    }
  }
  MPI_Finalize();
}
