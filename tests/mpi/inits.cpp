#include "inits.h"

namespace tutti::tests {

const Inits inits{
#define TUTTI_INIT(name) &TUTTI_INIT_NAME(name),
    TUTTI_INITS(TUTTI_INIT)
#undef TUTTI_INIT
};

}  // namespace tutti::tests
