// Versions of the contract: three numbers, which of two is the higher, and whether one may break what the other has promised.

export type ContractVersion = readonly [first: number, second: number, third: number]

/** Nothing where a text is no version. */
export function parseVersion(text: string): ContractVersion | undefined {
  const found = /^(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})$/.exec(text)
  return found ? [Number(found[1]), Number(found[2]), Number(found[3])] : undefined
}

/** Less than zero where `a` is the lower. */
export function compareVersions(a: ContractVersion, b: ContractVersion): number {
  return a[0] - b[0] || a[1] - b[1] || a[2] - b[2]
}

/** Whether a later version may break an earlier one: its first number is higher, or the second while the earlier begins with 0. */
export function canBreak(later: ContractVersion, earlier: ContractVersion): boolean {
  return later[0] > earlier[0] || (earlier[0] === 0 && later[0] === 0 && later[1] > earlier[1])
}
