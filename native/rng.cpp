// Random states that Python may ask for; the generator itself is in rng.hpp.

#include "rng.hpp"

#include "export.hpp"

namespace dcra::rng {

// Set `rng` to `seed.state(seed, index)`.
void reseed(uint64_t* rng, uint64_t seed, uint64_t index) { dcra::reseed(rng, seed, index); }

}  // namespace dcra::rng

DCRA_PLAIN(rng, reseed)
