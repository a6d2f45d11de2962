// image.*: the result of each node by its pixels; and invalid inputs.
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import sharp from 'sharp'
import type { AssetToSave, AssetValue } from '../../../src/engine/node-api/services/assets.ts'
import { failsAs } from '../fails-as.ts'
import { mediaNodes } from '../with-media.ts'

/** The last request of image.Save. */
let saved: AssetToSave | null = null
const KEPT = {} as AssetValue
const nodes = mediaNodes({
  async save(asset) {
    saved = asset
    return KEPT
  },
})
after(() => nodes[Symbol.asyncDispose]())

/** The left half is red, the right half blue, the top left pixel white, so that all sides differ. */
async function flag(width = 8, height = 4, format: 'png' | 'gif' | 'tiff' = 'png'): Promise<Buffer> {
  const pixels = Buffer.alloc(width * height * 3)
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++) pixels.set(x < width / 2 ? [255, 0, 0] : [0, 0, 255], (y * width + x) * 3)
  pixels.set([255, 255, 255], 0)
  return sharp(pixels, { raw: { width, height, channels: 3 } })
    .toFormat(format)
    .toBuffer()
}

const HEIC =
  'AAAAHGZ0eXBoZWljAAAAAG1pZjFoZWljbWlhZgAAAaxtZXRhAAAAAAAAACFoZGxyAAAAAAAAAABwaWN0AAAAAAAAAAAAAAAAAAAAAA5waXRtAA' +
  'AAAAACAAAAEGlkYXQAAAAAABQACgAAADhpbG9jAQAAAERAAAIAAQAAAAAAAAHQAAEAAAAAAAAAngACAAEAAAAAAAAAAQAAAAAAAAAIAAAAOGlp' +
  'bmYAAAAAAAIAAAAVaW5mZQIAAAEAAQAAaHZjMQAAAAAVaW5mZQIAAAAAAgAAZ3JpZAAAAADXaXBycAAAALVpcGNvAAAAdWh2Y0MBBAgAAAAAAA' +
  'AAAAAe8AD8/fr6AAAPAyAAAQAXQAEMAf//BAgAAAMAnbgAAAMAAB66AkAhAAEAKkIBAQQIAAADAJ24AAADAAAeoCCBBNluqumubgQEDAgAAAMA' +
  'CAAAAwAIQCIAAQAGRAHBc8GJAAAAFGlzcGUAAAAAAAAAQAAAAEAAAAAUaXNwZQAAAAAAAAAUAAAACgAAABBwaXhpAAAAAAMKCgoAAAAaaXBtYQ' +
  'AAAAAAAAACAAECgQIAAgIDhAAAABppcmVmAAAAAAAAAA5kaW1nAAIAAQABAAAApm1kYXQAAACaKAGvEyH1GA/lMjb/NkG+fR6nihqEurlSFqPN' +
  'cNlLokcTSM98htjKcmZ+opyr5FkMB7gUx9y94BHPIK9cZG8HwSMHZJTSGwp5Xy7KIoWAn2Cfaw6ILGu2SfznaduEF4MsHOi0YRF0CSNWHAwrzi' +
  '/oDREt6PZ1kaM3+WUOem49zO11CSGmwIQyVHuqS+jpKTI1Tnqk0OQ4zoFDgA=='

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
  test('Resize scales, and keeps the proportions if one side is set', async () => {
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

  test('Blur mixes neighbours, Grayscale removes colours, Adjust darkens', async () => {
    const soft = await colours(await imageOf('image.Blur', { image: await flag(), radius: 2 }))
    assert.ok(soft[2]![3] !== R && soft[2]![4] !== B)
    for (const colour of (await colours(await imageOf('image.Grayscale', { image: await flag() }))).flat())
      assert.match(colour, /^(..)\1\1$/)
    const dark = await colours(await imageOf('image.Adjust', { image: await flag(), brightness: 0.5 }))
    assert.deepEqual([dark[2]![0], dark[2]![7]], ['7f0000', '00007f'])
  })

  test('Sharpen keeps flat parts and sharpens edges', async () => {
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

  test('Convert writes other formats, and changes only the extension of the name', async () => {
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

  test('removes camera metadata, but applies its orientation', async () => {
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

  /** Three frames of 20 × 10 pixels, black, grey and white. */
  const moving = () =>
    sharp(Buffer.concat([0, 128, 255].map((grey) => Buffer.alloc(20 * 10 * 3, grey))), {
      raw: { width: 20, height: 30, channels: 3, pageHeight: 10 },
    })
      .gif({ delay: [100, 200, 300] })
      .toBuffer()

  test('Convert and Resize keep animations if the format supports them, or take one frame', async () => {
    const image = await moving()
    for (const [type, inputs, size] of [
      ['image.Convert', { format: 'webp' }, [20, 10]],
      ['image.Convert', {}, [20, 10]],
      ['image.Resize', { width: 8, height: 8, fit: 'contain' }, [8, 8]],
    ] as const) {
      const made = await imageOf(type, { image, ...inputs })
      const { pages, delay } = await sharp(made.data).metadata()
      assert.deepEqual([made.width, made.height, pages, delay], [...size, 3, [100, 200, 300]])
    }
    for (const [inputs, colour] of [
      [{ format: 'png' }, '000000'],
      [{ frame: 3 }, 'ffffff'],
    ] as const) {
      const made = await imageOf('image.Convert', { image, ...inputs })
      assert.deepEqual([(await sharp(made.data).metadata()).pages ?? 1, made.height], [1, 10])
      assert.equal((await colours(made))[0]![0], colour)
    }
    await assert.rejects(imageOf('image.Convert', { image, frame: 4 }), failsAs('bad_input', /3 frames.* number 4/))
    await assert.rejects(imageOf('image.Resize', { image, width: 9_000 }), failsAs('too_large', /only the first frame/))
    const still = await imageOf('image.Flip', { image })
    assert.equal((await sharp(still.data).metadata()).pages, 1)
  })

  test('TIFF is lossless unless a quality is set, and AVIF stays AVIF', async () => {
    const tiff = await imageOf('image.Convert', { image: await flag(), format: 'tiff' })
    assert.deepEqual(await colours(tiff), await colours({ ...tiff, data: await flag() }))
    const avif = await imageOf('image.Convert', { image: await flag(), format: 'avif' })
    assert.equal((await imageOf('image.Grayscale', { image: avif })).content_type, 'image/avif')
  })

  test('refuses HEIC by its name, as a telephone writes it', async () => {
    // A file of one picture, as libheif writes it, up to the start of its pixels.
    const heic = Buffer.from(HEIC, 'base64')
    for (const type of ['image.Load', 'image.Metadata', 'image.Convert'])
      await assert.rejects(nodes.fire(type, { image: heic }), failsAs('unsupported', /HEIC.*JPEG/))
  })

  test('names the largest side of a format in the error', async () => {
    const image = await sharp({ create: { width: 65_535, height: 1, channels: 3, background: '#f00' } })
      .png()
      .toBuffer()
    for (const format of ['webp', 'avif', 'jpeg'])
      await assert.rejects(imageOf('image.Convert', { image, format }), failsAs('too_large', /WebP allows 16,383/))
    assert.equal((await imageOf('image.Convert', { image, format: 'gif' })).width, 65_535)
  })

  test('Save keeps a picture unchanged, except camera metadata', async () => {
    const save = async (inputs: Record<string, unknown>) => {
      const { asset, width, height } = await nodes.fire('image.Save', inputs)
      assert.equal(asset, KEPT)
      return { ...saved!, width, height }
    }
    const plain = await flag()
    const same = await save({ image: { data: plain, name: 'flag.png' }, folder: 'asset_f' })
    assert.deepEqual(Buffer.from(same.bytes), plain)
    assert.deepEqual(
      [same.name, same.content_type, same.folder, same.width, same.height],
      ['flag.png', 'image/png', 'asset_f', 8, 4],
    )
    const other = await save({ image: { data: plain, name: 'flag.png' }, name: 'my flag', format: 'jpeg' })
    assert.deepEqual([other.name, other.content_type], ['my flag.jpg', 'image/jpeg'])
    const shot = await sharp(plain)
      .withMetadata({ orientation: 6, exif: { IFD0: { Artist: 'Ada' }, IFD3: { GPSLatitudeRef: 'N' } } })
      .jpeg()
      .toBuffer()
    const bare = await save({ image: shot })
    const { exif, orientation, format } = await sharp(bare.bytes).metadata()
    assert.deepEqual([exif, orientation, format, bare.width, bare.height], [undefined, undefined, 'jpeg', 4, 8])
    const loop = await moving()
    assert.deepEqual(Buffer.from((await save({ image: loop })).bytes), loop)
    await assert.rejects(save({ image: Buffer.from('not a picture') }), failsAs('unsupported', /no image/))
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

  test('refuses results with too many pixels before they are made', async () => {
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
