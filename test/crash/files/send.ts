// Sends requests with bodies in one life of the server. The kill may come at any moment of them.
import type { Life } from '../life.ts'
import type { Random } from '../random.ts'
import { exchange, type Sent, type Told } from './transfer.ts'

/** At once, or slowly, so that the kill interrupts the body. */
export async function* cut(life: Life, bytes: Buffer, dice: Random): AsyncGenerator<Uint8Array> {
  const size = dice.chance(0.4) ? Math.ceil(bytes.length / dice.int(2, 12)) : bytes.length
  for (let from = 0; from < bytes.length; from += size) {
    if (from > 0) await life.pause(dice.int(1, 25))
    yield bytes.subarray(from, from + size)
  }
}

/**
 * Returns the whole answer. Null where the kill interrupted it, or a full disk refused it. @throws where a living server gives no answer
 */
export async function send(life: Life, sent: Sent): Promise<Told | null> {
  try {
    const told = await exchange(life.server.url, sent)
    // Either all or nothing of it is stored.
    if (told.status === 503 && life.short) return null
    if (!told.whole && !life.over) throw new Error(`the answer to ${sent.method} ${sent.path} was cut off`)
    return told.whole ? told : null
  } catch (error) {
    if (life.over) return null
    throw error
  }
}
