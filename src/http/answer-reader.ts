// Who reads an answer, as the account of held answers knows it. Made where an answer is large, and not before.
import type { Response } from 'express'
import type { HeldAnswers, Reader } from '../held-answers.ts'
import { callerKey, localsOf } from './locals.ts'
import { whenClosed } from './when-closed.ts'

/** The reader of an answer. Where it is cut, the answer breaks off, so that nobody takes it for whole. */
export function readerOf(response: Response, held: HeldAnswers): Reader {
  const locals = localsOf(response)
  if (locals.reader) return locals.reader
  const reader = held.reader(callerKey(response), () => {
    if (locals.unmade) locals.unmade()
    else response.destroy()
  })
  locals.reader = reader
  if (response.closed) reader.end()
  else whenClosed(response, () => reader.end())
  return reader
}
