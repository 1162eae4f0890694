refused: missing
  no instruction of `wrong_place_ring` writes rank 0 out[1], which must hold in[0] of rank 1
  allgather: block b of every rank's out is rank b's in
