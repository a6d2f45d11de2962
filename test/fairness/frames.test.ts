// Many small frames and requests at once delay no other user, on however many sockets they come.
import { test } from 'node:test'
import { frames } from './attacks/frames.ts'
import { holdsLittle, share, startFair } from './kit.ts'

/** Milliseconds of processor time: a slice of eight, the command that begins within it, and the parsing of incoming data. */
const LONGEST_HOLD = 75

test('no number of small frames or requests holds the event loop', async () => {
  await using server = await startFair({ SVC_WS_RATE_LIMIT_DISABLED: '1' })
  for (const of of frames) {
    const attack = of(share(0.1))
    await holdsLittle(server, attack, LONGEST_HOLD)
  }
})
