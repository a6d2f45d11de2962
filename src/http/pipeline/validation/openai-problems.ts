// Simplifies the problems of OpenAI requests. A message has a role and a part has a type; the schema reports for each variant why it does not fit,
// and errors of the roles and types that the author did not mean are dropped.
import { moreProblemsSuffix, type Problem, ServiceError } from '../../../errors.ts'

/** A value with several variants, told apart by a member. */
interface Discriminator {
  readonly at: RegExp
  readonly member: 'role' | 'type'
  /** The variants in a message of this role. */
  kinds(role: unknown): readonly string[]
}

const CONTENT_PART_TYPES: Readonly<Record<string, readonly string[]>> = {
  user: ['text', 'image_url', 'input_audio', 'file'],
  assistant: ['text', 'refusal'],
}
const ROLES = ['system', 'developer', 'user', 'assistant', 'tool', 'function']

const DISCRIMINATORS: readonly Discriminator[] = [
  { at: /^\/body\/messages\/\d+$/, member: 'role', kinds: () => ROLES },
  {
    at: /^\/body\/messages\/\d+\/content\/\d+$/,
    member: 'type',
    kinds: (role) => getOwn(CONTENT_PART_TYPES, role) ?? ['text'],
  },
  { at: /^\/body\/messages\/\d+\/tool_calls\/\d+$/, member: 'type', kinds: () => ['function', 'custom'] },
  { at: /^\/body\/tools\/\d+$/, member: 'type', kinds: () => ['function', 'custom'] },
  { at: /^\/body\/tool_choice$/, member: 'type', kinds: () => ['function', 'custom', 'allowed_tools'] },
  { at: /^\/body\/response_format$/, member: 'type', kinds: () => ['text', 'json_object', 'json_schema'] },
]

/** Members that only one variant requires. */
const KIND_BY_REQUIRED_MEMBER: Readonly<Record<string, string>> = {
  tool_call_id: 'tool',
  name: 'function',
  text: 'text',
  image_url: 'image_url',
  input_audio: 'input_audio',
  file: 'file',
  refusal: 'refusal',
  function: 'function',
  custom: 'custom',
  allowed_tools: 'allowed_tools',
  json_schema: 'json_schema',
}

/** Keeps only the problems that the author can act on. Other errors pass unchanged. */
export function simplifyOpenaiProblems(error: unknown, body: unknown): unknown {
  if (!(error instanceof ServiceError) || error.code !== 'INVALID_REQUEST') return error
  const simplified = dropOtherInputForms(dropOtherVariants(error.problems, body), body)
  const [first] = simplified
  if (!first || areSameProblems(simplified, error.problems)) return error
  const { more_problems } = error
  const message = `${first.path}: ${first.message}${moreProblemsSuffix(simplified, more_problems)}`
  return new ServiceError('INVALID_REQUEST', { problems: simplified, more_problems, message })
}

function areSameProblems(some: readonly Problem[], others: readonly Problem[]): boolean {
  return some.length === others.length && some.every((one, at) => one === others[at])
}

function dropOtherVariants(problems: readonly Problem[], body: unknown): Problem[] {
  const unknown = new Map<string, Problem>()
  for (const { path } of problems) {
    const { parent, name } = splitPath(path)
    const choice = findDiscriminator(parent)
    const value = name === choice?.member ? valueAt(body, path) : undefined
    if (!choice || value === undefined || unknown.has(parent)) continue
    const kinds = choice.kinds(roleAt(body, parent))
    if (!kinds.includes(value as string)) unknown.set(parent, { path, message: formatUnknownKind(kinds), code: 'enum' })
  }
  const kept = problems.filter((problem) => !isWithin(unknown, problem.path) && !isOtherVariant(problem.path, body))
  // If a variant found problems inside a value, or of its length, another type was not meant.
  const counted = problems.filter(({ code }) => /^(?:min|max)(?:Items|Properties)$/.test(code ?? ''))
  const inspected = new Set([
    ...problems.flatMap(({ path }) => listAncestors(path)),
    ...counted.map(({ path }) => path),
  ])
  return [...unknown.values(), ...kept].filter(({ path, code }) => code !== 'type' || !inspected.has(path))
}

/** The message about items of a wrong type, by the type of the first item. */
const INPUT_TYPE_MESSAGES: Readonly<Record<string, string>> = {
  string: 'must be string',
  number: 'must be integer',
  object: 'must be array',
}
const INPUT_PATH = '/body/input'
/** The type of items that a limit applies to; `minItems` applies to lists of tokens. */
const INPUT_LIMIT_KINDS: Readonly<Record<string, string>> = {
  minLength: 'string',
  minimum: 'number',
  minItems: 'object',
}

/** Keeps the problems of the form of embedding input that was meant. */
function dropOtherInputForms(problems: readonly Problem[], body: unknown): Problem[] {
  const input = valueAt(body, INPUT_PATH)
  if (!Array.isArray(input) || input.length === 0) return [...problems]
  const [first] = input as unknown[]
  const kind = first === null || (typeof first === 'object' && !Array.isArray(first)) ? 'string' : typeof first
  const meant = getOwn(INPUT_TYPE_MESSAGES, kind) ?? INPUT_TYPE_MESSAGES.string
  const inside = problems.filter(({ path }) => path.startsWith(`${INPUT_PATH}/`))
  return problems.filter(({ path, message, code }) => {
    if (path === INPUT_PATH) return code === 'maxItems' ? kind !== 'number' || inside.length === 0 : code !== 'type'
    if (!/^\/body\/input\/\d+$/.test(path)) return true
    return code === 'type' ? message === meant : (getOwn(INPUT_LIMIT_KINDS, code) ?? kind) === kind
  })
}

function formatUnknownKind(kinds: readonly string[]): string {
  return `must be one of ${kinds.map((kind) => `"${kind}"`).join(', ')}`
}

function findDiscriminator(path: string): Discriminator | undefined {
  return DISCRIMINATORS.find(({ at }) => at.test(path))
}

/** The role of the message that contains this path. */
function roleAt(body: unknown, path: string): unknown {
  const message = /^\/body\/messages\/\d+/.exec(path)?.[0]
  return message === undefined ? undefined : valueAt(body, `${message}/role`)
}

function isWithin(unknown: ReadonlyMap<string, Problem>, path: string): boolean {
  return listAncestors(path).some((ancestor) => unknown.has(ancestor))
}

function listAncestors(path: string): string[] {
  const found: string[] = []
  for (let at = path.lastIndexOf('/'); at > 0; at = path.lastIndexOf('/', at - 1)) found.push(path.slice(0, at))
  return found
}

/** Whether a problem belongs to a variant that was not meant. */
function isOtherVariant(path: string, body: unknown): boolean {
  const { parent, name } = splitPath(path)
  const choice = findDiscriminator(parent)
  if (!choice) return false
  const kind = valueAt(body, `${parent}/${choice.member}`)
  if (name === choice.member) return kind !== undefined
  if (name === 'content' && canLackContent(valueAt(body, path), kind)) return true
  const owner = getOwn(KIND_BY_REQUIRED_MEMBER, name)
  return owner !== undefined && valueAt(body, path) === undefined && kind !== undefined && owner !== kind
}

/** An assistant that only calls tools, and a function, may have no content. */
function canLackContent(content: unknown, role: unknown): boolean {
  return (
    (content === null || content === undefined) && (role === 'assistant' || (role === 'function' && content === null))
  )
}

/** Names come from the client, so inherited properties do not count. */
function getOwn<T>(entries: Readonly<Record<string, T>>, name: unknown): T | undefined {
  return typeof name === 'string' && Object.hasOwn(entries, name) ? entries[name] : undefined
}

function splitPath(path: string): { parent: string; name: string } {
  const at = path.lastIndexOf('/')
  return { parent: path.slice(0, at), name: path.slice(at + 1) }
}

/** The value at a path that begins with `/body`; undefined if there is none. */
function valueAt(body: unknown, path: string): unknown {
  const [, , ...names] = path.split('/')
  return names.reduce<unknown>((value, name) => {
    const member = name.replaceAll('~1', '/').replaceAll('~0', '~')
    return typeof value === 'object' && value !== null && Object.hasOwn(value, member)
      ? (value as Record<string, unknown>)[member]
      : undefined
  }, body)
}
