// Sums of money: beyond some digits are errors of binary fractions, which neither readers nor limits shall see.

const DIGITS = 12

export function roundAmount(amount: number): number {
  return Number(amount.toPrecision(DIGITS))
}
