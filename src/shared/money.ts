// Rounding of sums of money: digits beyond the twelfth are errors of binary fractions, which readers and limits must not see.

const DIGITS = 12

export function roundAmount(amount: number): number {
  return Number(amount.toPrecision(DIGITS))
}
