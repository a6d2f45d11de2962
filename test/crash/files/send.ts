// Requests with bodies in one life of the server, whose kill may come at any moment of them.
import type { Life } from '../life.ts'
import type { Random } from '../random.ts'
import { exchange, type Sent, type Told } from './transfer.ts'

/** At once, or slowly, so that the kill comes in its middle. */
export async function* cut(life: Life, bytes: Buffer, dice: Random): AsyncGenerator<Uint8Array> {
  const size = dice.chance(0.4) ? Math.ceil(bytes.length / dice.int(2, 12)) : bytes.length
  for (let from = 0; from < bytes.length; from += size) {
    if (from > 0) await life.pause(dice.int(1, 25))
    yield bytes.subarray(from, from + size)
  }
}

/** The whole answer; null where the kill cut it off, or a full disk refused it. @throws where the server lives, and gives none */
export async function send(life: Life, sent: Sent): Promise<Told | null> {
  try {
    const told = await exchange(life.server.url, sent)
    // Nothing of it is kept, or all: nobody knows.
    if (told.status === 503 && life.short) return null
    if (!told.whole && !life.over) throw new Error(`the answer to ${sent.method} ${sent.path} was cut off`)
    return told.whole ? told : null
  } catch (error) {
    if (life.over) return null
    throw error
  }
}
