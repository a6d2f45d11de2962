// What a look at a file may find: a content that may be there, whole or in the part that was asked for; or nothing, where nothing may be there.
import type { Fault } from '../evidence.ts'
import { type Content, named } from './content.ts'
import type { Told } from './transfer.ts'

/** Bytes that are asked for, both ends included. */
export interface Part {
  readonly first: number
  readonly last: number
}

export interface Look {
  readonly what: string
  /** The contents that may be there; null for none. */
  readonly possible: readonly (Content | null)[]
  /** Null for the whole. */
  readonly part: Part | null
  readonly told: Told
}

/** The content that was found (null for none), or what is wrong. */
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
  // What was cut off is the beginning of what was asked for, and never the end of an answer.
  const due = told.whole ? wanted : wanted.subarray(0, told.bytes.length)
  if (told.bytes.equals(due)) return { content }
  return loss(look, `is given with ${told.bytes.length} bytes that are not its own, of ${wanted.length}`)
}

function loss({ what, possible }: Look, found: string): Found {
  const due = possible.map(named).join(' or ')
  return { fault: { kind: 'loss', job_id: null, what: `${what} ${found}, where ${due} must be` } }
}
