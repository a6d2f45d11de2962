// How deep values nest. What a run gives has to be stored and sent, and both have an end to the nesting that they take.

/** How many lists and dicts may lie inside each other; as many as a frame may bring. */
export const DEEPEST_VALUE = 64
/** A container with more inside of it is looked into only once. */
const SMALL = 8

/** How deep containers nest whose inside is known, so that what is handed on or shared costs no second look. */
const known = new WeakMap<object, number>()
let looked = 0

function childrenDepth(container: object, left: number): number {
  let depth = 0
  if (Array.isArray(container)) {
    for (const child of container) {
      if (typeof child === 'object' && child !== null) depth = Math.max(depth, depthOf(child, left))
      else looked++
    }
    return depth
  }
  for (const key in container) {
    const child: unknown = container[key as keyof typeof container]
    if (typeof child === 'object' && child !== null) depth = Math.max(depth, depthOf(child, left))
    else looked++
  }
  return depth
}

/** The depth of a container, or Infinity as soon as it shows to be deeper than `left`. */
function depthOf(container: object, left: number): number {
  if (ArrayBuffer.isView(container)) return 0
  if (left === 0) return Number.POSITIVE_INFINITY
  looked++
  const found = known.get(container)
  if (found !== undefined) return found
  const before = looked
  const depth = 1 + childrenDepth(container, left - 1)
  if (looked - before > SMALL && depth < Number.POSITIVE_INFINITY) known.set(container, depth)
  return depth
}

/** Whether a value nests deeper than any may. Costs nothing for what is neither list nor dict. */
export function isTooDeep(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  return depthOf(value, DEEPEST_VALUE) > DEEPEST_VALUE
}

/** What to say of it. */
export const TOO_DEEP = `nested more than ${DEEPEST_VALUE} deep`
