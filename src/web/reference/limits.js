// What a schema allows beyond its type, in a few words: fixed values, defaults, ranges and formats.

/** @type {[least: string, most: string, unit: string][]} */
const RANGES = [
  ['minimum', 'maximum', ''],
  ['minLength', 'maxLength', ' characters'],
  ['minItems', 'maxItems', ' entries'],
  ['minProperties', 'maxProperties', ' keys'],
]

/** @type {[keyword: string, words: string][]} */
const OTHERS = [
  ['exclusiveMinimum', '> '],
  ['exclusiveMaximum', '< '],
  ['multipleOf', 'multiple of '],
  ['pattern', 'matches '],
  ['format', 'format '],
  ['contentEncoding', 'encoding '],
]

/**
 * @param {any} shape a schema without references
 * @returns {string[]}
 */
export function limitsOf(shape) {
  const found = []
  if ('const' in shape) found.push(`always ${JSON.stringify(shape.const)}`)
  if (shape.enum) found.push(shape.enum.map((/** @type {unknown} */ value) => JSON.stringify(value)).join(' · '))
  if ('default' in shape) found.push(`default ${JSON.stringify(shape.default)}`)
  for (const [least, most, unit] of RANGES) found.push(...range(shape[least], shape[most], unit))
  for (const [keyword, words] of OTHERS) if (keyword in shape) found.push(`${words}${shape[keyword]}`)
  if (shape.uniqueItems) found.push('no entry twice')
  return found
}

/**
 * @param {number | undefined} least
 * @param {number | undefined} most
 * @param {string} unit
 */
function range(least, most, unit) {
  const [from, to] = [least, most].map((value) => value?.toLocaleString('en'))
  if (from !== undefined && to !== undefined) return [`${from}–${to}${unit}`]
  if (from !== undefined) return [`≥ ${from}${unit}`]
  return to === undefined ? [] : [`≤ ${to}${unit}`]
}
