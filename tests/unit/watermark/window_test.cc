#include "watermark/window.h"

#include <gtest/gtest.h>

namespace walpost::watermark {
namespace {

Flight Of(std::size_t bytes, std::uint32_t index) {
  Flight flight;
  flight.bytes = bytes;
  flight.index = index;
  return flight;
}

TEST(Window, IsBoundedInMessagesAndInBytes) {
  Window window(2, 100);
  EXPECT_TRUE(window.HasRoom(60));
  window.Push(Of(60, 0));
  EXPECT_TRUE(window.HasRoom(40));
  EXPECT_FALSE(window.HasRoom(41));
  window.Push(Of(1, 1));
  EXPECT_FALSE(window.HasRoom(0));
  EXPECT_EQ(window.bytes(), 61U);
}

TEST(Window, AnOversizeMessageTravelsAlone) {
  Window window(10, 100);
  EXPECT_TRUE(window.HasRoom(1000));
  window.Push(Of(1000, 0));
  EXPECT_FALSE(window.HasRoom(1));
  window.PopBefore(Ticket(1));
  EXPECT_TRUE(window.HasRoom(1));
}

// Behind one stuck partition the others may go on only within the window.
TEST(Window, CountsFromTheOldestUnacknowledged) {
  Window window(3, 1000);
  for (std::uint32_t i = 0; i < 3; ++i) window.Push(Of(10, i));
  window.PopBefore(Ticket(0));  // later ones are acknowledged, the oldest is not
  EXPECT_FALSE(window.HasRoom(1));
  EXPECT_EQ(window.oldest().index, 0U);
  window.PopBefore(Ticket(2));
  EXPECT_TRUE(window.HasRoom(1));
  EXPECT_EQ(window.oldest().index, 2U);
  EXPECT_EQ(window.at(Ticket(2)).index, 2U);
  EXPECT_EQ(window.bytes(), 10U);
}

}  // namespace
}  // namespace walpost::watermark
