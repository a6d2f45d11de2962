// Random hosts, origins and forwarded lists of callers that must not be trusted, from a seed.
import type { Random } from '../../crash/random.ts'
import { text } from './junk.ts'

const EVIL = 'evil.example'

/** A foreign Host header. */
export function foreignHost(random: Random): string {
  const start = random.pick([
    '',
    'localhost.',
    '127.0.0.1.',
    'localhost@',
    'localhost:80@',
    '[::1].',
    '%6cocalhost.',
    '0x7f.1.',
    'a.localhost-',
    text(random, 4),
  ])
  return `${start}${EVIL}${random.pick(['', '.', ':80', ':7777', ':x', ':80:80', '/', '/localhost', '?localhost', '#localhost', '%00localhost', ',localhost', ' localhost'])}`
}

/** A foreign Origin header. */
export function foreignOrigin(random: Random): string {
  const scheme = random.pick([
    'http://',
    'https://',
    'HTTP://',
    'ws://',
    'ftp://',
    'file://',
    'chrome://',
    'data:',
    '//',
    '',
  ])
  return random.pick([
    () => 'null',
    () => 'NULL',
    () => `${scheme}${foreignHost(random)}`,
    () => `http://localhost, http://${EVIL}`,
    () => `http://${EVIL}\t`,
    () => `${scheme}${text(random, 10)}${EVIL}`,
  ])()
}

/** A forwarded list whose last entry, which counts, is a stranger, this machine, or unreadable. */
export function forwardedList(random: Random, trusted: string): string {
  const friends = [trusted, '127.0.0.1', '::1', `::ffff:${trusted}`, `"${trusted}"`, `${trusted}:80`]
  const strangers = [
    '203.0.113.9',
    '2001:db8::9',
    '10.10.0.1',
    '127.0.0.9',
    '::1',
    '0:0:0:0:0:0:0:1',
    '::ffff:127.0.0.9',
    '0.0.0.0',
  ]
  const broken = [
    'unknown',
    '_hidden',
    '10.9',
    '10.9.8.7.6',
    '0x0a.9.8.7',
    '010.9.8.7',
    '10.9.8.7/16',
    '10.9.8.7 x',
    '１0.9.8.7',
    '::ffff:10.9',
    `x${text(random, 8)}`,
  ]
  const before = Array.from({ length: random.int(0, 6) }, () => random.pick([...friends, ...strangers, ...broken]))
  return [...before, random.pick([...strangers, ...broken])].join(random.pick([',', ', ', ' ,\t', ',,']))
}
