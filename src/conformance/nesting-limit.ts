// How deep the values of the other side may be nested. Whatever goes through a value by recursion, such as the writing of a report, would end at a
// deeper one with an overflow of the stack.

/** No value of the contract is nested as deep as this. */
const MAX_NESTING_LEVELS = 500

/** Whether a decoded value is nested too deep. It is walked level by level, without recursion. */
export function isNestedTooDeep(value: unknown): boolean {
  let level = [value]
  for (let depth = 0; depth < MAX_NESTING_LEVELS; depth++) {
    level = level.flatMap(listContainers)
    if (level.length === 0) return false
  }
  return true
}

/** The lists and maps inside a list or map. */
function listContainers(value: unknown): unknown[] {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return []
  return Object.values(value).filter((member) => typeof member === 'object' && member !== null)
}
