#include "ullage/sim/recipe.h"

#include <gtest/gtest.h>

namespace ullage {
namespace {

std::string value_of(const Recipe& recipe, std::string_view key) {
  for (const auto& [name, value] : options_of(recipe)) {
    if (name == key) return value;
  }
  return "(absent)";
}

TEST(Recipe, EveryOptionGoesInAndComesBackAsText) {
  const std::pair<std::string_view, std::string_view> settings[] = {
      {"mode", "infer"},
      {"batch", "32"},
      {"seq", "512"},
      {"input", "x=1x3x224x224:float16"},
      {"loss", "mse"},
      {"precision", "amp-bf16"},
      {"optimizer", "adamw"},
      {"optimizer-impl", "fused"},
      {"accumulate", "4"},
      {"checkpoint", "segments=6"},
      {"inplace", "on"},
      {"memory-format", "channels_last"},
      {"steps", "5"},
      {"loop", "zero-grad=after-step,set-to-none=no,keep=outputs"},
      {"cudnn", "off"},
      {"device", "rtx3090"},
      {"capacity", "1073741824"},
      {"allocator", "bfc"},
      {"alloc-conf", "expandable_segments:True"},
  };
  Recipe recipe;
  for (const auto& [key, value] : settings) {
    ASSERT_TRUE(set_option(recipe, key, value)) << key;
    EXPECT_EQ(value_of(recipe, key), value) << key;
  }
  Recipe copy;
  for (const auto& [key, value] : options_of(recipe)) ASSERT_TRUE(set_option(copy, key, value)) << key;
  EXPECT_EQ(options_of(copy), options_of(recipe));
}

TEST(Recipe, EveryHelpRowIsAKeyThatIsUnderstood) {
  for (const OptionHelp& option : recipe_options()) {
    Recipe recipe;
    const Status wrong = set_option(recipe, option.key, "\x01nonsense");
    const std::string message = wrong ? std::string() : wrong.error().message;
    EXPECT_EQ(message.find("no recipe key"), std::string::npos) << option.key;
  }
}

TEST(Recipe, DefaultsAreAPlainScript) {
  const Recipe recipe;
  EXPECT_EQ(value_of(recipe, "mode"), "train");
  EXPECT_EQ(value_of(recipe, "steps"), "3");
  EXPECT_EQ(value_of(recipe, "loop"), "zero-grad=first,set-to-none=yes,keep=loss");
}

TEST(Recipe, ErrorsSayWhatIsAllowed) {
  Recipe recipe;
  const Status precision = set_option(recipe, "precision", "fp12");
  ASSERT_FALSE(precision);
  EXPECT_NE(precision.error().hint.find("amp-bf16"), std::string::npos);
  const Status optimizer = set_option(recipe, "optimizer", "adan");
  ASSERT_FALSE(optimizer);
  EXPECT_NE(optimizer.error().hint.find("adam"), std::string::npos);
  EXPECT_FALSE(set_option(recipe, "batch", "0"));
  EXPECT_FALSE(set_option(recipe, "batch", "12x"));
  EXPECT_FALSE(set_option(recipe, "parallel", "dp=4"));
  EXPECT_FALSE(set_option(recipe, "no-such-key", "1"));
}

}  // namespace
}  // namespace ullage
