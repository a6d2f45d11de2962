// Long answers of the model that repeats its input: in one piece, in very many pieces, and abandoned before their end.
import type { AttackOf } from '../kit.ts'
import { sized } from './values.ts'

const PATH = '/v1/chat/completions'

const asking = (content: string, stream: boolean) =>
  JSON.stringify({ model: 'builtin/echo', messages: [{ role: 'user', content }], stream })

/** An answer without a space comes in one piece. `full`: just below the limit of an answer. */
const inOnePiece =
  (what: string, full: number, character: string, stream: boolean): AttackOf =>
  (share) => {
    const length = sized(full, share)
    const body = asking(character.repeat(length), stream)
    return {
      name: `${what} of ${length} characters in one piece`,
      strike: (attacker) => attacker.expect(200, 'POST', PATH, body),
    }
  }

/** The server counts the usage of an abandoned answer. */
const abandoned: AttackOf = (share) => {
  const words = sized(7_500_000, share)
  const body = asking('a '.repeat(words), true)
  return {
    name: `an answer to ${words} words that is left`,
    strike: (attacker) => attacker.abandon(PATH, body),
  }
}

export const answers: readonly AttackOf[] = [
  inOnePiece('an answer', 9_900_000, 'x', false),
  inOnePiece('an answer that needs escapes', 7_900_000, '"', false),
  inOnePiece('a stream', 7_900_000, '"', true),
  inOnePiece('an answer of spaces', 9_900_000, ' ', false),
  abandoned,
]
