// Pictures that look a little like photos: skies, hills, a sun and water, out of noise that is the same each time.
import sharp from 'sharp'

const WIDTH = 480
const HEIGHT = 320

type Colour = readonly [red: number, green: number, blue: number]

interface Scene {
  readonly name: string
  readonly sky: readonly [top: Colour, horizon: Colour]
  /** From the farthest to the nearest: how high they begin, of 1, how rough they are, and their colour. */
  readonly hills: readonly (readonly [at: number, rough: number, colour: Colour])[]
  readonly sun?: readonly [x: number, y: number, radius: number, colour: Colour]
  /** Where water begins, of 1; it mirrors what is above. */
  readonly water?: number
  readonly stars?: boolean
}

const SCENES: readonly Scene[] = [
  {
    name: 'dunes',
    sky: [
      [92, 154, 214],
      [236, 226, 200],
    ],
    hills: [
      [0.55, 0.1, [222, 178, 118]],
      [0.66, 0.16, [206, 152, 92]],
      [0.8, 0.12, [178, 122, 70]],
    ],
    sun: [0.8, 0.2, 0.05, [255, 250, 226]],
  },
  {
    name: 'lake',
    sky: [
      [58, 112, 178],
      [198, 222, 236],
    ],
    hills: [
      [0.34, 0.3, [112, 132, 160]],
      [0.46, 0.18, [62, 98, 92]],
    ],
    water: 0.58,
  },
  {
    name: 'meadow',
    sky: [
      [82, 156, 226],
      [214, 234, 246],
    ],
    hills: [
      [0.5, 0.12, [118, 168, 110]],
      [0.62, 0.1, [98, 160, 66]],
      [0.78, 0.06, [78, 140, 44]],
    ],
  },
  {
    name: 'mountains',
    sky: [
      [104, 148, 198],
      [226, 232, 240],
    ],
    hills: [
      [0.3, 0.42, [166, 178, 200]],
      [0.48, 0.32, [104, 118, 142]],
      [0.7, 0.2, [54, 72, 70]],
    ],
  },
  {
    name: 'night',
    sky: [
      [8, 12, 34],
      [40, 52, 92],
    ],
    hills: [
      [0.66, 0.2, [18, 24, 40]],
      [0.82, 0.12, [8, 12, 20]],
    ],
    sun: [0.24, 0.22, 0.045, [238, 236, 222]],
    stars: true,
  },
  {
    name: 'sunset',
    sky: [
      [72, 54, 112],
      [250, 158, 84],
    ],
    hills: [[0.52, 0.14, [84, 56, 88]]],
    sun: [0.55, 0.47, 0.08, [255, 222, 140]],
    water: 0.6,
  },
]

/** From 0 to 1, by two whole numbers and a seed. */
function chance(x: number, y: number, seed: number): number {
  let bits = (Math.imul(x, 374_761_393) + Math.imul(y, 668_265_263) + Math.imul(seed, 1_274_126_177)) | 0
  bits = Math.imul(bits ^ (bits >>> 13), 1_103_515_245)
  return ((bits ^ (bits >>> 16)) >>> 0) / 4_294_967_296
}

function between(a: number, b: number, part: number): number {
  return a + (b - a) * part
}

/** Smooth noise in several sizes at once, from 0 to 1. */
function noise(x: number, y: number, seed: number): number {
  let [sum, weight] = [0, 0]
  for (let octave = 0; octave < 5; octave++) {
    const [scaledX, scaledY] = [x * 2 ** octave, y * 2 ** octave]
    const [left, top] = [Math.floor(scaledX), Math.floor(scaledY)]
    const [u, v] = [scaledX - left, scaledY - top].map((one) => one * one * (3 - 2 * one)) as [number, number]
    const at = (dx: number, dy: number) => chance(left + dx, top + dy, seed + octave)
    sum += between(between(at(0, 0), at(1, 0), u), between(at(0, 1), at(1, 1), u), v) / 2 ** octave
    weight += 1 / 2 ** octave
  }
  return sum / weight
}

function mixed(a: Colour, b: Colour, part: number): Colour {
  return [between(a[0], b[0], part), between(a[1], b[1], part), between(a[2], b[2], part)]
}

/** The colour at a place, each from 0 to 1. */
function colourAt(scene: Scene, seed: number, x: number, y: number): Colour {
  const { water } = scene
  if (water === undefined || y < water) return landAt(scene, seed, x, y)
  const wave = (noise(x * 6, y * 60, seed + 40) - 0.5) * 0.04
  const mirrored = landAt(scene, seed, x + wave, Math.max(0, water - (y - water) * 0.9 + wave))
  return mixed(mirrored, [20, 44, 76], 0.3 + 0.25 * (y - water))
}

function landAt(scene: Scene, seed: number, x: number, y: number): Colour {
  let colour = skyAt(scene, seed, x, y)
  for (const [index, [at, rough, own]] of scene.hills.entries()) {
    const edge = at + (noise(x * 3, index * 9, seed + index * 7) - 0.5) * rough
    if (y < edge) continue
    const light = 0.75 + 0.5 * noise(x * 24, y * 48, seed + 20 + index)
    colour = [own[0] * light, own[1] * light, own[2] * light]
  }
  return colour
}

function skyAt({ sky, sun, stars }: Scene, seed: number, x: number, y: number): Colour {
  const cloud = Math.max(0, noise(x * 4, y * 10, seed + 60) - 0.55) * (stars ? 0.4 : 1.6)
  let colour = mixed(mixed(sky[0], sky[1], Math.min(1, y * 1.7)), [255, 255, 255], Math.min(0.7, cloud))
  if (stars && chance(Math.round(x * WIDTH), Math.round(y * HEIGHT), seed) > 0.9975) colour = [250, 250, 240]
  if (sun) {
    const far = Math.hypot((x - sun[0]) * (WIDTH / HEIGHT), y - sun[1]) / sun[2]
    colour = mixed(colour, sun[3], Math.min(1, far < 1 ? 1 : 0.7 / far ** 2))
  }
  return colour
}

async function photo(scene: Scene, seed: number): Promise<Buffer> {
  const pixels = Buffer.alloc(WIDTH * HEIGHT * 3)
  for (let y = 0; y < HEIGHT; y++) {
    for (let x = 0; x < WIDTH; x++) {
      const colour = colourAt(scene, seed, x / WIDTH, y / HEIGHT)
      for (const [part, value] of colour.entries())
        pixels[(y * WIDTH + x) * 3 + part] = Math.max(0, Math.min(255, Math.round(value)))
    }
  }
  return sharp(pixels, { raw: { width: WIDTH, height: HEIGHT, channels: 3 } })
    .jpeg({ quality: 78, mozjpeg: true })
    .toBuffer()
}

/** A sign without any text: a hill and a sun in a ring, the rest transparent. */
const LOGO = `<svg xmlns="http://www.w3.org/2000/svg" width="96" height="96" viewBox="0 0 96 96">
  <circle cx="48" cy="48" r="45" fill="#ffffff" stroke="#1f4e79" stroke-width="6"/>
  <circle cx="62" cy="36" r="11" fill="#f2a33a"/>
  <path d="M10 66 L36 34 L54 56 L64 46 L86 66 A42 42 0 0 1 10 66 Z" fill="#1f4e79"/>
</svg>`

/** By their paths in the package. */
export async function pictures(): Promise<Record<string, Uint8Array>> {
  const photos = SCENES.map(async (scene, index) => [`photos/${scene.name}.jpg`, await photo(scene, 100 * index + 1)])
  const logo = await sharp(Buffer.from(LOGO)).png({ compressionLevel: 9, palette: true }).toBuffer()
  return { ...Object.fromEntries(await Promise.all(photos)), 'logo.png': logo }
}
