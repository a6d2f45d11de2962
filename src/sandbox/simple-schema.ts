// Recognizes JSON schemas that are so simple and small that they are certainly usable, without compiling them.

/** The limit of keywords in such a schema: compiling them takes negligible time. */
const MOST_KEYWORDS = 200

const TYPES = ['null', 'boolean', 'integer', 'number', 'string', 'array', 'object']

/** Checks the value of a keyword: returns the schemas within it, or null if it is invalid. */
type Keyword = (value: unknown) => readonly unknown[] | null

const keywordWhere =
  (fits: (value: unknown) => boolean): Keyword =>
  (value) =>
    fits(value) ? [] : null

const isText = (value: unknown) => typeof value === 'string'
const isNumber = (value: unknown) => Number.isFinite(value)
const isCount = (value: unknown) => Number.isSafeInteger(value) && (value as number) >= 0
const isUniqueList = (value: unknown, fits: (item: unknown) => boolean) =>
  Array.isArray(value) && value.every(fits) && new Set(value).size === value.length
const isType = (value: unknown) => TYPES.includes(value as string)
const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const readSchemaList: Keyword = (value) => (Array.isArray(value) && value.length > 0 ? value : null)

const KEYWORDS = new Map<string, Keyword>([
  ['type', keywordWhere((value) => isType(value) || (isUniqueList(value, isType) && (value as unknown[]).length > 0))],
  ['enum', keywordWhere((value) => Array.isArray(value) && value.length > 0 && value.length <= 100)],
  ['const', keywordWhere(() => true)],
  ['default', keywordWhere(() => true)],
  ['required', keywordWhere((value) => isUniqueList(value, isText))],
  ['properties', (value) => (isObject(value) ? Object.values(value) : null)],
  ...['items', 'additionalProperties', 'not'].map((name): [string, Keyword] => [name, (value) => [value]]),
  ...['allOf', 'anyOf', 'oneOf'].map((name): [string, Keyword] => [name, readSchemaList]),
  ...['title', 'description', '$comment'].map((name): [string, Keyword] => [name, keywordWhere(isText)]),
  ...['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'].map((name): [string, Keyword] => [
    name,
    keywordWhere(isNumber),
  ]),
  ...['minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties', 'maxProperties'].map(
    (name): [string, Keyword] => [name, keywordWhere(isCount)],
  ),
  ['uniqueItems', keywordWhere((value) => typeof value === 'boolean')],
])

/** True: the schema is valid and cheap to compile. False: unknown. */
export function isSimpleSchema(schema: unknown): boolean {
  const left = [schema]
  let keywords = 0
  while (left.length > 0) {
    const one = left.pop()
    if (++keywords > MOST_KEYWORDS) return false
    if (typeof one === 'boolean') continue
    if (!isObject(one)) return false
    for (const [name, value] of Object.entries(one)) {
      const within = KEYWORDS.get(name)?.(value)
      if (!within || ++keywords > MOST_KEYWORDS || within.length > MOST_KEYWORDS) return false
      left.push(...within)
    }
  }
  return true
}

/** The limit of schemas that are visited. */
const MOST_LOOKED_AT = 10_000

/** A keyword with an invalid value, which prevents compiling; null: none was found, which proves nothing. */
export function findInvalidKeyword(schema: unknown): string | null {
  const left = [schema]
  for (let seen = 0; left.length > 0 && seen < MOST_LOOKED_AT; seen++) {
    const one = left.pop()
    if (!isObject(one)) continue
    for (const [name, value] of Object.entries(one)) {
      const within = name === 'enum' ? [] : KEYWORDS.get(name)?.(value)
      if (within === null) return name
      for (const inner of within ?? []) left.push(inner)
    }
  }
  return null
}
