// Random invalid credentials, from a seed.
import type { Random } from '../../crash/random.ts'
import { type Headers, text } from './junk.ts'

/** An Authorization header without a valid credential. */
export function authorization(random: Random): string {
  const scheme = random.pick([
    'Bearer',
    'bearer',
    'BEARER',
    'Basic',
    'Digest',
    'Token',
    'Bearer:',
    'Bearer=',
    '',
    'Negotiate',
  ])
  const prefix = random.pick(['', 'ntk_', 'nta_', 'nda_', 'NTK_', 'ntk-', 'eyJhbGciOiJub25lIn0.', 'ntk_nta_'])
  const words = [prefix, text(random, 60), 'a'.repeat(random.pick([0, 43, 1_000, 9_000])), '.'.repeat(random.int(0, 5))]
  return `${scheme}${random.pick([' ', ' ', '  ', '\t', ''])}${words.join('')}${random.pick(['', ' ', ' x', ',Bearer y', '='])}`
}

/** A valid token with a typo; never the token itself. */
export function mangled(random: Random, good: string): string {
  const at = random.int(0, good.length - 1)
  const [before, character, after] = [good.slice(0, at), good[at]!, good.slice(at + 1)]
  const ways: (() => string)[] = [
    () => before + String.fromCharCode(character.charCodeAt(0) ^ (1 << random.int(0, 5))) + after,
    () => before,
    () => before + after,
    () => before + character + character + after,
    () => good + random.pick(['A', '=', '==', '.', '%00', '\0', ',', good, 'ä', '\u00a0x']),
    () => random.pick(['ntk_', 'nta_', 'nda_', '.', '"', 'x', '\ufeff']) + good,
    () => good.replace(/^n[td][ka]_/, random.pick(['', 'ntk-', 'nta_', 'nda_', 'NTK_', 'ntk_ntk_', 'ntk__'])),
    () => good.toUpperCase(),
    () => good.toLowerCase(),
    () => [...good].reverse().join(''),
    () => good.replace(/\.[^.]*$/, random.pick(['', '.', '.AAAA', `.${'A'.repeat(43)}`])),
    () => before + text(random, 5) + after,
    () => good.replaceAll('_', '-'),
    () => good.repeat(random.int(2, 40)),
  ]
  const made = random.pick(ways)().trim()
  return made === good ? `${good}x` : made
}

/** A valid token in a header from which it must not be read. */
export function misplaced(random: Random, good: string): Headers {
  const ways: Headers[] = [
    [['Authorization', good]],
    [['Authorization', `Bearer${good}`]],
    [['Authorization', `Basic ${good}`]],
    [['Authorization', `Token ${good}`]],
    [['Authorization', `Bearer ${good}, Bearer ${good}`]],
    [['Authorization', `Bearer ${good} x`]],
    [['Authorization', `Bearer "${good}"`]],
    [['Authorization', `Bearer=${good}`]],
    [
      ['Authorization', `Bearer ${good}`],
      ['Authorization', `Bearer ${good}`],
    ],
    [
      ['Authorization', 'Basic YTpi'],
      ['authorization', `Bearer ${good}`],
    ],
    [['Proxy-Authorization', `Bearer ${good}`]],
    [['X-Authorization', `Bearer ${good}`]],
    [['Cookie', `Authorization=Bearer ${good}; api_key=${good}; token=${good}`]],
    [['X-Api-Key', good]],
    [['Api_key', good]],
    [['Sec-WebSocket-Protocol', good]],
  ]
  return random.pick(ways)
}
