// Limits how deep the values of the other side may be nested. Recursive code, such
// as the report writer, would overflow the stack at deeper values.

/** No value of the contract is nested this deep. */
const MAX_NESTING_LEVELS = 500

/** Whether a decoded value is nested too deep. The check works level by level, without recursion. */
export function isNestedTooDeep(value: unknown): boolean {
  let level = [value]
  for (let depth = 0; depth < MAX_NESTING_LEVELS; depth++) {
    level = level.flatMap(listContainers)
    if (level.length === 0) return false
  }
  return true
}

/** Returns the lists and maps inside a list or map. */
function listContainers(value: unknown): unknown[] {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return []
  return Object.values(value).filter((member) => typeof member === 'object' && member !== null)
}
