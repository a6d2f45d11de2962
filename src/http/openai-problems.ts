// What is wrong with a conversation, said of what its author meant: a message has a role and a part has a type, and what other roles and types
// would need is no problem of it. The schema's variants each say why they do not fit.
import { andMore, type Problem, ServiceError } from '../errors.ts'

/** Something of which there are several kinds, told apart by a member. */
interface Choice {
  readonly at: RegExp
  readonly by: 'role' | 'type'
  /** The kinds that there are, in a message of a role. */
  kinds(role: unknown): readonly string[]
}

const PARTS: Readonly<Record<string, readonly string[]>> = {
  user: ['text', 'image_url', 'input_audio', 'file'],
  assistant: ['text', 'refusal'],
}
const ROLES = ['system', 'developer', 'user', 'assistant', 'tool', 'function']

const CHOICES: readonly Choice[] = [
  { at: /^\/body\/messages\/\d+$/, by: 'role', kinds: () => ROLES },
  { at: /^\/body\/messages\/\d+\/content\/\d+$/, by: 'type', kinds: (role) => own(PARTS, role) ?? ['text'] },
  { at: /^\/body\/messages\/\d+\/tool_calls\/\d+$/, by: 'type', kinds: () => ['function', 'custom'] },
  { at: /^\/body\/tools\/\d+$/, by: 'type', kinds: () => ['function', 'custom'] },
  { at: /^\/body\/tool_choice$/, by: 'type', kinds: () => ['function', 'custom', 'allowed_tools'] },
  { at: /^\/body\/response_format$/, by: 'type', kinds: () => ['text', 'json_object', 'json_schema'] },
]

/** Members that one kind alone has to have. */
const OWNED: Readonly<Record<string, string>> = {
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

/** The same error with the problems that its author can do something about; anything else as it is. */
export function meantProblems(error: unknown, body: unknown): unknown {
  if (!(error instanceof ServiceError) || error.code !== 'INVALID_REQUEST') return error
  const meant = withoutInputs(withoutVariants(error.problems, body), body)
  const [first] = meant
  if (!first || isSame(meant, error.problems)) return error
  const { more_problems } = error
  const message = `${first.path}: ${first.message}${andMore(meant, more_problems)}`
  return new ServiceError('INVALID_REQUEST', { problems: meant, more_problems, message })
}

function isSame(some: readonly Problem[], others: readonly Problem[]): boolean {
  return some.length === others.length && some.every((one, at) => one === others[at])
}

function withoutVariants(problems: readonly Problem[], body: unknown): Problem[] {
  const unknown = new Map<string, Problem>()
  for (const { path } of problems) {
    const { parent, name } = split(path)
    const choice = choiceAt(parent)
    const value = name === choice?.by ? valueAt(body, path) : undefined
    if (!choice || value === undefined || unknown.has(parent)) continue
    const kinds = choice.kinds(roleAt(body, parent))
    if (!kinds.includes(value as string)) unknown.set(parent, { path, message: noneOf(kinds), code: 'enum' })
  }
  const kept = problems.filter((problem) => !isWithin(unknown, problem.path) && !isOfOthers(problem.path, body))
  // Where a variant found something to look at inside, or to count, another type was not meant.
  const counted = problems.filter(({ code }) => /^(?:min|max)(?:Items|Properties)$/.test(code ?? ''))
  const looked_into = new Set([...problems.flatMap(({ path }) => ancestors(path)), ...counted.map(({ path }) => path)])
  return [...unknown.values(), ...kept].filter(({ path, code }) => code !== 'type' || !looked_into.has(path))
}

/** What texts and tokens are to be, by the first of them. */
const INPUTS: Readonly<Record<string, string>> = {
  string: 'must be string',
  number: 'must be integer',
  object: 'must be array',
}
const INPUT = '/body/input'
/** What is said of items of a kind, and of lists by the kind of their items. */
const LIMITS: Readonly<Record<string, string>> = { minLength: 'string', minimum: 'number', minItems: 'object' }

/** Of the forms that the input of vectors has, what is said of the one that was meant. */
function withoutInputs(problems: readonly Problem[], body: unknown): Problem[] {
  const input = valueAt(body, INPUT)
  if (!Array.isArray(input) || input.length === 0) return [...problems]
  const [first] = input as unknown[]
  const kind = first === null || (typeof first === 'object' && !Array.isArray(first)) ? 'string' : typeof first
  const meant = own(INPUTS, kind) ?? INPUTS.string
  const inside = problems.filter(({ path }) => path.startsWith(`${INPUT}/`))
  return problems.filter(({ path, message, code }) => {
    if (path === INPUT) return code === 'maxItems' ? kind !== 'number' || inside.length === 0 : code !== 'type'
    if (!/^\/body\/input\/\d+$/.test(path)) return true
    return code === 'type' ? message === meant : (own(LIMITS, code) ?? kind) === kind
  })
}

function noneOf(kinds: readonly string[]): string {
  return `is none of those that there are: ${kinds.map((one) => `"${one}"`).join(', ')}`
}

function choiceAt(path: string): Choice | undefined {
  return CHOICES.find(({ at }) => at.test(path))
}

/** Of the message that a place is in. */
function roleAt(body: unknown, path: string): unknown {
  const message = /^\/body\/messages\/\d+/.exec(path)?.[0]
  return message === undefined ? undefined : valueAt(body, `${message}/role`)
}

function isWithin(unknown: ReadonlyMap<string, Problem>, path: string): boolean {
  return ancestors(path).some((ancestor) => unknown.has(ancestor))
}

function ancestors(path: string): string[] {
  const found: string[] = []
  for (let at = path.lastIndexOf('/'); at > 0; at = path.lastIndexOf('/', at - 1)) found.push(path.slice(0, at))
  return found
}

/** What a variant says that was not meant. */
function isOfOthers(path: string, body: unknown): boolean {
  const { parent, name } = split(path)
  const choice = choiceAt(parent)
  if (!choice) return false
  const kind = valueAt(body, `${parent}/${choice.by}`)
  if (name === choice.by) return kind !== undefined
  if (name === 'content' && isSilent(valueAt(body, path), kind)) return true
  const owner = own(OWNED, name)
  return owner !== undefined && valueAt(body, path) === undefined && kind !== undefined && owner !== kind
}

/** Who only calls, or is called, need not say anything. */
function isSilent(content: unknown, role: unknown): boolean {
  return (
    (content === null || content === undefined) && (role === 'assistant' || (role === 'function' && content === null))
  )
}

/** Whatever a client calls things: what every object has is no entry. */
function own<T>(entries: Readonly<Record<string, T>>, name: unknown): T | undefined {
  return typeof name === 'string' && Object.hasOwn(entries, name) ? entries[name] : undefined
}

function split(path: string): { parent: string; name: string } {
  const at = path.lastIndexOf('/')
  return { parent: path.slice(0, at), name: path.slice(at + 1) }
}

/** Of a path that begins with `/body`; undefined where there is nothing. */
function valueAt(body: unknown, path: string): unknown {
  const [, , ...names] = path.split('/')
  return names.reduce<unknown>((value, name) => {
    const member = name.replaceAll('~1', '/').replaceAll('~0', '~')
    return typeof value === 'object' && value !== null && Object.hasOwn(value, member)
      ? (value as Record<string, unknown>)[member]
      : undefined
  }, body)
}
