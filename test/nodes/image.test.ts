// Pictures: what each node makes of one, by its pixels; and what is refused.
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import sharp from 'sharp'
import { failsAs } from './fails-as.ts'
import { mediaNodes } from './with-media.ts'

const nodes = mediaNodes()
after(() => nodes[Symbol.asyncDispose]())

/** Left half red, right half blue, the top left pixel white: no two sides are alike. */
async function flag(width = 8, height = 4, format: 'png' | 'gif' | 'tiff' = 'png'): Promise<Buffer> {
  const pixels = Buffer.alloc(width * height * 3)
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++) pixels.set(x < width / 2 ? [255, 0, 0] : [0, 0, 255], (y * width + x) * 3)
  pixels.set([255, 255, 255], 0)
  return sharp(pixels, { raw: { width, height, channels: 3 } })
    .toFormat(format)
    .toBuffer()
}

interface Picture {
  data: Uint8Array
  content_type: string
  name?: string
  width: number
  height: number
}

/** The colours of a picture, row by row, as hexadecimal digits of red, green and blue. */
async function colours({ data }: Picture): Promise<string[][]> {
  const { data: raw, info } = await sharp(data)
    .flatten({ background: '#ffffff' })
    .removeAlpha()
    .toColourspace('srgb')
    .raw()
    .toBuffer({ resolveWithObject: true })
  const at = (x: number, y: number) =>
    raw.subarray((y * info.width + x) * 3, (y * info.width + x) * 3 + 3).toString('hex')
  return Array.from({ length: info.height }, (_, y) => Array.from({ length: info.width }, (_, x) => at(x, y)))
}

async function imageOf(type: string, inputs: Record<string, unknown>): Promise<Picture> {
  const { image, width, height } = await nodes.fire(type, inputs)
  const picture = image as Picture
  assert.deepEqual([picture.width, picture.height], [width, height])
  return picture
}

const [R, B, W] = ['ff0000', '0000ff', 'ffffff']

describe('image.*', () => {
  test('Resize scales, and follows one side', async () => {
    const small = await imageOf('image.Resize', { image: await flag(400, 200), width: 4 })
    assert.deepEqual([small.width, small.height, small.content_type], [4, 2, 'image/png'])
    const rows = await colours(small)
    assert.deepEqual(rows[1], [R, 'f1000e', '0e00f1', B])
    const same = await imageOf('image.Resize', { image: await flag(), width: 80, enlarge: false })
    assert.deepEqual([same.width, same.height], [8, 4])
    const boxed = await imageOf('image.Resize', {
      image: await flag(),
      width: 8,
      height: 8,
      fit: 'contain',
      background: '#00ff00',
    })
    const top = (await colours(boxed))[0]!
    assert.deepEqual(top, new Array(8).fill('00ff00'))
  })

  test('Crop takes a part', async () => {
    const part = await imageOf('image.Crop', { image: await flag(), left: 3, top: 1, width: 2, height: 3 })
    assert.deepEqual(await colours(part), new Array(3).fill([R, B]))
    await assert.rejects(
      imageOf('image.Crop', { image: await flag(), left: 7, width: 2, height: 1 }),
      failsAs('bad_input', /8 × 4 pixels/),
    )
  })

  test('Rotate turns clockwise, and grows', async () => {
    const turned = await imageOf('image.Rotate', { image: await flag(), angle: 90 })
    const rows = await colours(turned)
    assert.deepEqual([turned.width, turned.height], [4, 8])
    assert.deepEqual(rows[0], [R, R, R, W])
    assert.deepEqual(rows[7], [B, B, B, B])
    const tilted = await imageOf('image.Rotate', { image: await flag(80, 40), angle: 45 })
    assert.deepEqual([tilted.width, tilted.height], [85, 85])
  })

  test('Flip mirrors', async () => {
    const [first] = await colours(await imageOf('image.Flip', { image: await flag() }))
    assert.deepEqual(first, [B, B, B, B, R, R, R, W])
    const rows = await colours(await imageOf('image.Flip', { image: await flag(), axis: 'vertical' }))
    assert.equal(rows[3]![0], W)
  })

  test('Blur mixes neighbours, Grayscale takes colours out, Adjust darkens', async () => {
    const soft = await colours(await imageOf('image.Blur', { image: await flag(), radius: 2 }))
    assert.ok(soft[2]![3] !== R && soft[2]![4] !== B)
    for (const colour of (await colours(await imageOf('image.Grayscale', { image: await flag() }))).flat())
      assert.match(colour, /^(..)\1\1$/)
    const dark = await colours(await imageOf('image.Adjust', { image: await flag(), brightness: 0.5 }))
    assert.deepEqual([dark[2]![0], dark[2]![7]], ['7f0000', '00007f'])
  })

  test('Sharpen leaves flat parts and lifts edges', async () => {
    const grey = await sharp({ create: { width: 20, height: 4, channels: 3, background: '#808080' } })
      .composite([
        {
          input: await sharp({ create: { width: 10, height: 4, channels: 3, background: '#909090' } })
            .png()
            .toBuffer(),
          left: 0,
          top: 0,
        },
      ])
      .png()
      .toBuffer()
    const [row] = await colours(await imageOf('image.Sharpen', { image: grey, radius: 2 }))
    assert.equal(row![0], '909090')
    assert.ok(row![9]! > '909090', row![9])
  })

  test('Convert writes other formats, and keeps the name but for its ending', async () => {
    for (const format of ['jpeg', 'webp', 'avif', 'gif', 'tiff', 'png']) {
      const made = await imageOf('image.Convert', { image: { data: await flag(), name: 'flag.png' }, format })
      assert.equal(made.content_type, `image/${format}`)
      assert.equal(made.name, `flag.${format === 'jpeg' ? 'jpg' : format}`)
      assert.equal((await sharp(made.data).metadata()).width, 8)
    }
    const svg = Buffer.from(
      '<svg xmlns="http://www.w3.org/2000/svg" width="2" height="1"><rect width="2" height="1" fill="#00ff00"/></svg>',
    )
    assert.deepEqual(await colours(await imageOf('image.Convert', { image: svg })), [['00ff00', '00ff00']])
  })

  test('keeps nothing of what a camera wrote, but turns as it says', async () => {
    const shot = await sharp(await flag())
      .withMetadata({ orientation: 6, exif: { IFD0: { Artist: 'Ada' } } })
      .jpeg({ quality: 100, chromaSubsampling: '4:4:4' })
      .toBuffer()
    const made = await imageOf('image.Convert', { image: shot, format: 'png' })
    assert.deepEqual([made.width, made.height], [4, 8])
    const metadata = await sharp(made.data).metadata()
    assert.equal(metadata.exif, undefined)
    assert.equal(metadata.orientation, undefined)
  })

  for (const [what, image, type] of [
    ['no picture', Buffer.from('not a picture'), 'unsupported'],
    ['nothing', new Uint8Array(0), 'bad_file'],
    ['a number', 7, 'bad_input'],
  ] as const)
    test(`refuses ${what}`, async () => {
      await assert.rejects(imageOf('image.Convert', { image }), failsAs(type, /image/i))
    })

  test('refuses a picture that is cut off', async () => {
    const whole = await sharp({
      create: {
        width: 300,
        height: 300,
        channels: 3,
        noise: { type: 'gaussian', mean: 128, sigma: 30 },
        background: '#000000',
      },
    })
      .jpeg()
      .toBuffer()
    await assert.rejects(
      imageOf('image.Convert', { image: whole.subarray(0, whole.length / 2), format: 'png' }),
      failsAs('bad_file', /damaged/),
    )
  })

  test('refuses what would have too many pixels, before it is made', async () => {
    const bomb = await sharp({ create: { width: 16_000, height: 16_000, channels: 3, background: '#000000' } })
      .png()
      .toBuffer()
    assert.ok(bomb.length < 1_000_000)
    await assert.rejects(imageOf('image.Convert', { image: bomb }), failsAs('too_large', /64 million/))
    await assert.rejects(
      imageOf('image.Resize', { image: await flag(), width: 16_000 }),
      failsAs('too_large', /64 million/),
    )
    await imageOf('image.Convert', { image: await flag() })
  })
})
