refused: wrong at published_ring.coll:19
  rank 0 out[0] must hold in[0] of every rank and holds in[0] of rank 3 and in[2] of rank 2 instead
  it goes wrong at rank 3 lane 0 step 4 (`reduce`, published_ring.coll:19), which adds in[2] of rank 2 to in[0] of rank 3
  it was last written by rank 0 lane 0 step 10 (`rcs`, published_ring.coll:27)
