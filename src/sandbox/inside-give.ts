// Runs inside of the engine, handed over as source text: the look at what code gives, which can say where something is wrong.
// It uses nothing from around itself, and takes hold of what it needs before any code can change it.

export interface PreludeLimits {
  /** How deep values may nest, how many may lie in one result, and how many characters it may have. */
  readonly depth: number
  readonly values: number
  readonly characters: number
  /** Characters of a line of the console, and of an error. */
  readonly line: number
  readonly error: number
}

/** Looks through what the code gives. `why` says in words what was wrong with the last value that `give` refused. */
export function makeGive(limits: PreludeLimits) {
  const { stringify } = JSON
  const { isArray } = Array
  const { keys, getPrototypeOf } = Object
  const { apply } = Reflect
  const [DateOf, timeOf, plain] = [Date, Date.prototype.getTime, Object.prototype]
  const refused = [
    [Map, 'a Map; use Object.fromEntries(map)'],
    [Set, 'a Set; use [...set]'],
    [Promise, 'a Promise; await it first'],
    [RegExp, 'a RegExp; use its source'],
    [Error, 'an Error; use its message'],
    [ArrayBuffer, 'an ArrayBuffer; use a list of numbers'],
    [getPrototypeOf(Uint8Array), 'a typed array; use [...array]'],
  ] as const
  const kinds = refused.length
  // Filled now, so that writing to it later calls no setter of a changed prototype.
  const trail: (string | number)[] = Array(limits.depth + 2).fill('')
  let [count, length, problem] = [0, 0, '']

  function refuse(depth: number, what: string): never {
    let at = `"${trail[0]}"`
    for (let level = 1; level < depth && level < 8; level++) at += `[${stringify(trail[level])}]`
    problem = `a value that cannot leave it: ${at} ${what}`
    throw problem
  }

  function checkClass(value: object, depth: number): void {
    if (value instanceof DateOf) {
      const time = apply(timeOf, value, [])
      if (time - time !== 0) refuse(depth, 'is an invalid Date')
    }
    for (let at = 0; at < kinds; at++) {
      const [kind, advice] = refused[at]!
      if (value instanceof (kind as typeof Map)) refuse(depth, `is ${advice}`)
    }
  }

  function checkInside(value: object, depth: number): void {
    if (depth > limits.depth) refuse(depth, `is nested more than ${limits.depth} deep, or holds itself`)
    const names = isArray(value) ? null : keys(value)
    const size = names ? names.length : (value as unknown[]).length
    count += size
    if (count > limits.values) refuse(depth, `is part of more than ${limits.values} values`)
    for (let at = 0; at < size; at++) {
      const name = names ? names[at]! : at
      trail[depth] = name
      if (names) length += (name as string).length + 4
      check(value[name as keyof typeof value], depth + 1)
    }
  }

  function check(value: unknown, depth: number): void {
    const kind = typeof value
    if (kind === 'string') length += (value as string).length
    else if (kind === 'number') {
      if ((value as number) - (value as number) !== 0) refuse(depth, `is ${value}, which is no finite number`)
    } else if (kind === 'bigint') refuse(depth, 'is a BigInt; use Number(value) or String(value)')
    else if (kind === 'function' || kind === 'symbol') refuse(depth, `is a ${kind}, which is no value`)
    else if (kind === 'object' && value !== null) checkObject(value as object, depth)
    if (length > limits.characters) refuse(depth, `is part of more than ${limits.characters} characters`)
  }

  function checkObject(value: object, depth: number): void {
    const above = getPrototypeOf(value)
    if (above !== plain && above !== null && !isArray(value)) checkClass(value, depth)
    const toJson = (value as { toJSON?: unknown }).toJSON
    if (typeof toJson !== 'function') checkInside(value, depth)
    else if (depth > limits.depth) checkInside(value, depth)
    else check(apply(toJson, value, ['']), depth + 1)
  }

  /** The JSON of a record of values, or null where it isn't fit. Throws what getters of the code throw. */
  function give(value: unknown): string | null {
    count = length = 0
    problem = ''
    if (value === undefined) return '{}'
    if (typeof value !== 'object' || value === null || isArray(value)) {
      const kind = value === null ? 'null' : isArray(value) ? 'a list' : `a ${typeof value}`
      problem = `${kind} instead of an object with values by output name, such as {output: 1}`
      return null
    }
    try {
      const names = keys(value)
      count = names.length
      for (let at = 0; at < names.length && count <= limits.values; at++) {
        trail[0] = names[at]!
        length += names[at]!.length + 4
        check(value[names[at] as keyof typeof value], 1)
      }
      if (count > limits.values) problem = `more than ${limits.values} values`
    } catch (error) {
      if (problem === '') throw error
    }
    return problem === '' ? (stringify(value) ?? null) : null
  }

  return [give, () => problem] as const
}
