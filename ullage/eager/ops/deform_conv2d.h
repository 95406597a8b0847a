// torchvision's deformable convolution, which is not ATen's: a rule of its own size. Used by the table of
// convolution.cpp only.
#pragma once

#include "ullage/eager/rules.h"

namespace ullage::eager {

void deform_conv2d(Call& c);

}  // namespace ullage::eager
