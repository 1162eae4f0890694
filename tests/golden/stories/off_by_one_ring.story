refused: missing
  no instruction of `off_by_one_ring` writes rank 0 out[0], which must hold in[0] of every rank
  allreduce: every rank's out is the reduction of all ranks' in
