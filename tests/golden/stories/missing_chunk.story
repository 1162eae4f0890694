refused: missing
  no instruction of `missing_chunk` writes rank 1 out[0], which must hold in[0] of rank 0
  broadcast: every rank's out is the root's in
