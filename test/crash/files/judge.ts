// Checks what a look at a file finds: an allowed content, whole or in the requested part, or nothing where that is allowed.
import type { Fault } from '../evidence.ts'
import { type Content, named } from './content.ts'
import type { Told } from './transfer.ts'

/** The requested range, both ends included. */
export interface Part {
  readonly first: number
  readonly last: number
}

export interface Look {
  readonly what: string
  /** The allowed contents; null for none. */
  readonly possible: readonly (Content | null)[]
  /** Null for the whole file. */
  readonly part: Part | null
  readonly told: Told
}

/** Returns the found content (null for none), or the fault. */
export type Found = { readonly content: Content | null } | { readonly fault: Fault }

export function judgeLook(look: Look): Found {
  const { possible, part, told } = look
  if (told.status === 404) return possible.includes(null) ? { content: null } : loss(look, 'is gone')
  const content = possible.find((one) => one !== null && told.headers.etag === `"${one.sha256}"`)
  if (told.status === 416) {
    const short = possible.find((one) => one !== null && part !== null && one.bytes.length <= part.first)
    return short === undefined ? loss(look, 'has not the bytes that it was asked for') : { content: short }
  }
  if (told.status !== 200 && told.status !== 206) return loss(look, `is answered with ${told.status}`)
  if (!content) return loss(look, `is ${told.headers.etag}`)
  return judgeBytes(look, content)
}

function judgeBytes(look: Look, content: Content): Found {
  const { part, told } = look
  const wanted = told.status === 206 && part ? content.bytes.subarray(part.first, part.last + 1) : content.bytes
  // Interrupted data is the beginning of the requested range, and never the end of an answer.
  const due = told.whole ? wanted : wanted.subarray(0, told.bytes.length)
  if (told.bytes.equals(due)) return { content }
  return loss(look, `is given with ${told.bytes.length} bytes that are not its own, of ${wanted.length}`)
}

function loss({ what, possible }: Look, found: string): Found {
  const due = possible.map(named).join(' or ')
  return { fault: { kind: 'loss', job_id: null, what: `${what} ${found}, where ${due} must be` } }
}
