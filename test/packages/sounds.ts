// Sounds made of sine waves, as WAV files.

const RATE = 11_025

/** Hertz, and seconds; 0 Hz is silence. */
const MELODY: readonly (readonly [frequency: number, seconds: number])[] = [
  [392, 0.3],
  [440, 0.3],
  [493.88, 0.3],
  [587.33, 0.6],
  [0, 0.15],
  [493.88, 0.3],
  [587.33, 0.9],
]

/** One channel of 16-bit samples, from −1 to 1. */
function wav(samples: readonly number[]): Buffer {
  const bytes = Buffer.alloc(44 + samples.length * 2)
  bytes.write('RIFF', 0, 'latin1')
  bytes.writeUInt32LE(bytes.length - 8, 4)
  bytes.write('WAVEfmt ', 8, 'latin1')
  const format = [16, 0x0001_0001, RATE, RATE * 2, 0x0010_0002]
  for (const [at, value] of format.entries()) bytes.writeUInt32LE(value, 16 + at * 4)
  bytes.write('data', 36, 'latin1')
  bytes.writeUInt32LE(samples.length * 2, 40)
  for (const [at, sample] of samples.entries()) bytes.writeInt16LE(Math.round(sample * 32_767), 44 + at * 2)
  return bytes
}

/** A plucked string: it begins at once, and fades away. */
export function melody(): Buffer {
  const samples = MELODY.flatMap(([frequency, seconds]) =>
    Array.from({ length: Math.round(seconds * RATE) }, (_, at) => {
      const time = at / RATE
      const wave = (harmonic: number) => Math.sin(2 * Math.PI * frequency * harmonic * time) / harmonic ** 2
      const loud = Math.min(1, time * 200) * Math.exp(-4 * time)
      return 0.5 * loud * (wave(1) + wave(2) + wave(3))
    }),
  )
  return wav(samples)
}
