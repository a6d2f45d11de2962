// Writes WAV files (RIFF).
import { BYTES_PER_SAMPLE, type Sound } from './wav-reader.ts'

const PCM = 1
const FLOAT = 3
const HEADER = 44

/** Writes only the format and the samples. */
export function writeWav({ rate, channels, encoding, data }: Sound): Uint8Array {
  const padding = data.length % 2
  const bytes = new Uint8Array(HEADER + data.length + padding)
  const view = new DataView(bytes.buffer)
  const text = (at: number, word: string) => bytes.set(new TextEncoder().encode(word), at)
  const block = channels * BYTES_PER_SAMPLE[encoding]
  text(0, 'RIFF')
  view.setUint32(4, bytes.length - 8, true)
  text(8, 'WAVEfmt ')
  view.setUint32(16, 16, true)
  view.setUint16(20, encoding.startsWith('float') ? FLOAT : PCM, true)
  view.setUint16(22, channels, true)
  view.setUint32(24, rate, true)
  view.setUint32(28, rate * block, true)
  view.setUint16(32, block, true)
  view.setUint16(34, BYTES_PER_SAMPLE[encoding] * 8, true)
  text(36, 'data')
  view.setUint32(40, data.length, true)
  bytes.set(data, HEADER)
  return bytes
}
