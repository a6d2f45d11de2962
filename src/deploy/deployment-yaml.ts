// The key `server_auth_token` in the text of a deployment.yaml. All other text belongs to the file's owner and stays unchanged.
import { type Document, isAlias, isMap, isScalar, LineCounter, Parser, parseDocument, Scalar, YAMLMap } from 'yaml'
import { StartError } from '../start-error.ts'
import { isToken, TOKEN_KEY, TOKEN_RULE } from './token-format.ts'

/** Some editors write a byte order mark. The library would count it as indentation. */
const BYTE_ORDER_MARK = '\ufeff'

/**
 * Returns the token in a text. Null where the key is missing. `path` is for messages.
 * @throws StartError where the text is not a YAML mapping, or has an invalid token
 */
export function parseToken(text: string, path: string): string | null {
  const lines = new LineCounter()
  // Pretty errors quote the file with its secrets.
  const document = parseDocument(text.replace(BYTE_ORDER_MARK, ''), { prettyErrors: false, lineCounter: lines })
  const [error] = document.errors
  if (error) throw new StartError(`${path} is not valid YAML (line ${lines.linePos(error.pos[0]).line})`)
  const { contents } = document
  if (contents === null || (isScalar(contents) && contents.value === null)) return null
  if (!isMap(contents)) throw new StartError(`${path} is not a YAML mapping; write its settings as "key: value" lines`)
  if (!contents.has(TOKEN_KEY)) return null
  const node = contents.get(TOKEN_KEY, true)
  const value = isAlias(node) ? node.resolve(document) : node
  if (!isScalar(value) || typeof value.value !== 'string')
    throw new StartError(`${TOKEN_KEY} in ${path} is not a text; put it in quotes, or remove the key to get a new one`)
  if (!isToken(value.value)) throw new StartError(`${TOKEN_KEY} in ${path} ${TOKEN_RULE}`)
  return value.value
}

/**
 * Adds a token to a text without one. A block mapping, or an empty text, gets one more line and keeps all its characters. A mapping in
 * braces, or `null`, is rewritten.
 */
export function insertToken(text: string, token: string): string {
  if (text.startsWith(BYTE_ORDER_MARK)) return BYTE_ORDER_MARK + insertToken(text.slice(1), token)
  // The schema without types keeps the spelling of numbers.
  const document = parseDocument(text, { schema: 'failsafe', uniqueKeys: false, keepSourceTokens: true })
  const indent = detectIndent(document)
  return indent === null ? rewriteDocument(document, token) : insertLine(text, document, indent, token)
}

/** The indentation of the keys. Null where they do not have lines of their own. */
function detectIndent({ contents }: Document.Parsed): number | null {
  if (isMap(contents)) return contents.srcToken?.type === 'block-map' ? contents.srcToken.indent : null
  return contents === null || (isScalar(contents) && contents.source === '' && contents.tag === undefined) ? 0 : null
}

function insertLine(text: string, { contents }: Document.Parsed, indent: number, token: string): string {
  const lineEnd = /\r?\n/.exec(text)?.[0] ?? '\n'
  // The quotes keep a token that looks like a number a text. JSON strings are valid in YAML.
  const line = `${' '.repeat(indent)}${TOKEN_KEY}: ${JSON.stringify(token)}${lineEnd}`
  const end = [...new Parser().parse(text)].find(({ type }) => type === 'doc-end')?.offset ?? text.length
  const before = text.slice(0, end)
  if (!isMap(contents)) return before + (/[^\n]$/.test(before) ? lineEnd : '') + line + text.slice(end)
  const last = before + line + text.slice(end)
  if (/\S[ \t]*(\r?\n)+$/.test(before) && isValidYaml(last)) return last
  // An unfinished or blank last line may belong to a value, and a line after it would change that value. After a key without a value, a
  // line with only a tab becomes the value.
  const first = text.lastIndexOf('\n', contents.range[0]) + 1
  return text.slice(0, first) + line + text.slice(first)
}

function isValidYaml(text: string): boolean {
  return parseDocument(text, { prettyErrors: false }).errors.length === 0
}

function rewriteDocument(document: Document.Parsed, token: string): string {
  if (!isMap(document.contents)) {
    const map = new YAMLMap(document.schema)
    map.commentBefore = document.contents?.commentBefore
    document.contents = map as unknown as typeof document.contents
  }
  const value = new Scalar(token)
  value.type = Scalar.QUOTE_DOUBLE
  document.set(TOKEN_KEY, value)
  // Aliases of the owner's text are not checked.
  return document.toString({ lineWidth: 0, verifyAliasOrder: false })
}
