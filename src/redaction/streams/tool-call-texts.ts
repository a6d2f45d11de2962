// The calls of tools of one answer, as their pieces come, without secrets: their arguments, which are JSON unless the tool is a custom one, and their
// names, which are one text together, since a secret may be cut over the names of several calls.
import { JsonUnescaper } from '../json-unescaper.ts'
import type { EagerSecretReplacer } from './eager-secret-replacer.ts'

/** A text that comes in pieces. */
export type StreamedTextRedactor = Pick<EagerSecretReplacer, 'waiting' | 'push' | 'pushSteps' | 'end'>

/** The arguments of one call. `isCustom`: they are no JSON. */
export function createArgumentsRedactor(tail: EagerSecretReplacer, isCustom: boolean): StreamedTextRedactor {
  if (isCustom) return tail
  const plain = new JsonUnescaper()
  return {
    get waiting() {
      return tail.waiting
    },
    push: (piece) => tail.push(plain.push(piece)),
    pushSteps: (piece) => tail.pushSteps(plain.push(piece)),
    end: () => tail.push(plain.end()) + tail.end(),
  }
}

/** Names are told as they come: what goes on with a secret of which a name before has told a part is replaced. */
export class ToolNameRedactor {
  readonly #tail: EagerSecretReplacer

  constructor(tail: EagerSecretReplacer) {
    this.#tail = tail
  }

  redact(name: string): string {
    return this.#tail.push(name) + this.#tail.end()
  }
}
