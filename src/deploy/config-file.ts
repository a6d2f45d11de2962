// The key `server_auth_token` of a deployment.yaml. Everything else in that file is its owner's, and stays as it is.
import { lstatSync, realpathSync } from 'node:fs'
import { platform } from 'node:os'
import { isAlias, isMap, isScalar, LineCounter, parseDocument, Scalar, YAMLMap } from 'yaml'
import { StartError } from '../start-error.ts'
import { codeOf, putFile, putNewFile, readText, removeFile, type TextFile } from './files.ts'
import { isToken, TOKEN_KEY, TOKEN_RULE } from './rule.ts'

export interface StoredToken {
  readonly token: string
  /** Of the file, where others than its owner may read it. */
  readonly mode: number | null
}

const OTHERS = 0o077

/**
 * The token in a file; null where there is no file, or no such key.
 * @throws StartError where the file cannot be read, is no YAML mapping, or has something else under the key
 */
export function storedToken(path: string): StoredToken | null {
  const file = readText(path)
  const token = file && tokenIn(file.text, path)
  return token === null ? null : { token, mode: exposedMode(file!) }
}

/**
 * The token in a file, after one was put there if it had none. A token is agreed upon before it is written: the first
 * process to give the claim its name decides, and whoever comes later, or after a crash, writes what the claim says.
 * `made` tells whether this call wrote it.
 * @throws StartError as above, or where the file cannot be written
 */
export function adoptToken(path: string, make: () => string): StoredToken & { made: boolean } {
  const target = realPath(path)
  const claim = `${target}.token`
  for (;;) {
    putNewFile(claim, make())
    const claimed = readText(claim)
    // After the claim was made: whoever had one before has written its token by now.
    const stored = storedToken(target)
    if (stored === null && claimed === null) continue
    if (stored === null) putFile(target, withToken(readText(target)?.text ?? '', claimedToken(claimed!.text, claim)))
    removeFile(claim)
    const { token, mode } = stored ?? storedToken(target)!
    return { token, mode, made: stored === null }
  }
}

function claimedToken(text: string, claim: string): string {
  if (isToken(text)) return text
  throw new StartError(`${claim} holds no token; remove it if it is not yours`)
}

function exposedMode({ mode }: TextFile): number | null {
  return platform() === 'win32' || (mode & OTHERS) === 0 ? null : mode
}

/** Where links lead, so that the file behind a link is written and not the link replaced. */
function realPath(path: string): string {
  try {
    return realpathSync(path)
  } catch (error) {
    if (codeOf(error) === 'ENOENT' && !lstatSync(path, { throwIfNoEntry: false })) return path
    throw new StartError(`${path} cannot be read (${codeOf(error)}); check where its link leads`, { cause: error })
  }
}

function tokenIn(text: string, path: string): string | null {
  const lines = new LineCounter()
  // Pretty errors quote the file, secrets included.
  const document = parseDocument(text, { prettyErrors: false, lineCounter: lines })
  const [error] = document.errors
  if (error) throw new StartError(`${path} is not valid YAML (line ${lines.linePos(error.pos[0]).line})`)
  const { contents } = document
  if (contents === null || (isScalar(contents) && contents.value === null)) return null
  if (!isMap(contents)) throw new StartError(`${path} is not a YAML mapping, as a deployment's settings are`)
  if (!contents.has(TOKEN_KEY)) return null
  const node = contents.get(TOKEN_KEY, true)
  const value = isAlias(node) ? node.resolve(document) : node
  if (!isScalar(value) || typeof value.value !== 'string')
    throw new StartError(`${TOKEN_KEY} in ${path} is not a text; put it in quotes, or remove the key to get a new one`)
  if (!isToken(value.value)) throw new StartError(`${TOKEN_KEY} in ${path} ${TOKEN_RULE}`)
  return value.value
}

/** The text of a file with the token in it. It is read without types, so that no number is written in another way. */
function withToken(text: string, token: string): string {
  const document = parseDocument(text, { schema: 'failsafe', uniqueKeys: false })
  if (!isMap(document.contents)) {
    const map = new YAMLMap(document.schema)
    map.commentBefore = document.contents?.commentBefore
    document.contents = map as unknown as typeof document.contents
  }
  const value = new Scalar(token)
  // A token may look like a number.
  value.type = Scalar.QUOTE_DOUBLE
  document.set(TOKEN_KEY, value)
  return document.toString({ lineWidth: 0 })
}
