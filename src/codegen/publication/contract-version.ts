// Versions of the contract: three numbers, their order, and whether a version may break another.

export type ContractVersion = readonly [first: number, second: number, third: number]

/** Returns undefined where a text is not a version. */
export function parseVersion(text: string): ContractVersion | undefined {
  const found = /^(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})$/.exec(text)
  return found ? [Number(found[1]), Number(found[2]), Number(found[3])] : undefined
}

/** Returns less than zero where `a` is lower. */
export function compareVersions(a: ContractVersion, b: ContractVersion): number {
  return a[0] - b[0] || a[1] - b[1] || a[2] - b[2]
}

/** Whether a later version may break an earlier one: its first number is higher, or its second while the first is 0. */
export function canBreak(later: ContractVersion, earlier: ContractVersion): boolean {
  return later[0] > earlier[0] || (earlier[0] === 0 && later[0] === 0 && later[1] > earlier[1])
}
