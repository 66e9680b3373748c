// SPDX-License-Identifier: MIT
// expect: anything
int main() {}
