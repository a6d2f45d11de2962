// Redacts the streamed tool calls of one answer. Arguments are JSON unless the tool is a custom tool. All names form
// one text, since a secret may be split across the names of several calls.
import { JsonUnescaper } from '../json-unescaper.ts'
import type { EagerSecretReplacer } from './eager-secret-replacer.ts'

export type StreamedTextRedactor = Pick<EagerSecretReplacer, 'waiting' | 'push' | 'pushSteps' | 'end' | 'endSteps'>

/** Redacts the arguments of one call. `isCustom` means that they are not JSON. */
export function createArgumentsRedactor(tail: EagerSecretReplacer, isCustom: boolean): StreamedTextRedactor {
  if (isCustom) return tail
  const unescaper = new JsonUnescaper()
  return {
    get waiting() {
      return tail.waiting
    },
    push: (piece) => tail.push(unescaper.push(piece)),
    pushSteps: (piece) => tail.pushSteps(unescaper.push(piece)),
    end: () => tail.push(unescaper.end()) + tail.end(),
    *endSteps() {
      return (yield* tail.pushSteps(unescaper.end())) + (yield* tail.endSteps())
    },
  }
}

/** Names are emitted at once: a continuation of a secret that an earlier name began is replaced. */
export class ToolNameRedactor {
  readonly #tail: EagerSecretReplacer

  constructor(tail: EagerSecretReplacer) {
    this.#tail = tail
  }

  redact(name: string): string {
    return this.#tail.push(name) + this.#tail.end()
  }
}
