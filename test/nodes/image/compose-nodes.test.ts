// image.*: overlays, text, edges and metadata, by pixels and values; and invalid inputs.
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import sharp from 'sharp'
import { failsAs } from '../fails-as.ts'
import { mediaNodes } from '../with-media.ts'

const nodes = mediaNodes()
after(() => nodes[Symbol.asyncDispose]())

interface Picture {
  data: Uint8Array
  content_type: string
  name?: string
  width: number
  height: number
}

async function plain(width: number, height: number, background: string): Promise<Buffer> {
  return sharp({ create: { width, height, channels: 4, background } })
    .png()
    .toBuffer()
}

async function imageOf(type: string, inputs: Record<string, unknown>): Promise<Picture> {
  return (await nodes.fire(type, inputs)).image as Picture
}

/** Red, green, blue and alpha of each pixel, row by row. */
async function pixels({ data }: Picture): Promise<string[][]> {
  const { data: raw, info } = await sharp(data).ensureAlpha().raw().toBuffer({ resolveWithObject: true })
  const at = (x: number, y: number) =>
    raw.subarray((y * info.width + x) * 4, (y * info.width + x) * 4 + 4).toString('hex')
  return Array.from({ length: info.height }, (_, y) => Array.from({ length: info.width }, (_one, x) => at(x, y)))
}

const [R, G, B] = ['ff0000ff', '00ff00ff', '0000ffff']

describe('image.Composite', () => {
  test('lays pictures at their positions, the last on top, and cuts off parts outside', async () => {
    const made = await imageOf('image.Composite', {
      image: { data: await plain(4, 2, '#ff0000'), name: 'base.png' },
      images: [await plain(2, 2, '#00ff00'), await plain(3, 1, '#0000ff'), await plain(9, 9, '#ffffff')],
      places: [{ left: 1, top: 1 }, { left: -2 }, { left: 4 }],
    })
    assert.deepEqual(await pixels(made), [
      [B, R, R, R],
      [R, G, G, R],
    ])
    assert.equal(made.name, 'base.png')
  })

  test('blends as the W3C specifies, also half transparent layers', async () => {
    // Of 100, 200, 50 below and 200 above; then the mean of that and the layer below.
    for (const [blend, opaque, half] of [
      ['over', 'c8c8c8', '96c87d'],
      ['multiply', '4e9d27', '59b22d'],
      ['screen', 'def3d3', 'a1de82'],
      ['overlay', '9de74e', '80d840'],
      ['darken', '64c832', '64c832'],
      ['lighten', 'c8c8c8', '96c87d'],
      ['add', 'fffffa', 'b2e496'],
      ['difference', '640096', '646464'],
      ['exclusion', '8f56ac', '7a8f6f'],
      ['hard-light', 'bde7a7', '90d86c'],
    ] as const) {
      for (const [opacity, expected] of [
        [1, opaque],
        [0.5, half],
      ] as const) {
        const made = await imageOf('image.Composite', {
          image: await plain(1, 1, 'rgb(100,200,50)'),
          images: [await plain(1, 1, 'rgb(200,200,200)')],
          blend,
          opacity,
        })
        const [[found]] = (await pixels(made)) as [[string]]
        for (const at of [0, 2, 4]) {
          const [is, meant] = [found, expected].map((one) => Number.parseInt(one.slice(at, at + 2), 16)) as [
            number,
            number,
          ]
          assert.ok(Math.abs(is - meant) <= 1, `${blend} at ${opacity}: ${found} for ${expected}`)
        }
        assert.equal(found.slice(6), 'ff')
      }
    }
  })

  test('keeps uncovered areas transparent', async () => {
    const made = await imageOf('image.Composite', {
      image: await plain(2, 1, 'rgba(0,0,0,0)'),
      images: [await plain(1, 1, 'rgba(255,0,0,0.2)')],
      blend: 'multiply',
    })
    assert.deepEqual(await pixels(made), [['ff000033', '00000000']])
  })

  test('refuses invalid places, and pictures that are too large together', async () => {
    const image = await plain(1, 1, '#fff')
    for (const place of [{ left: 0.5 }, { opacity: 2 }, { blend: 'dest-in' }, { constructor: 1 }, 7])
      await assert.rejects(
        imageOf('image.Composite', { image, images: [image], places: [place] }),
        failsAs('bad_input', /Place 1/),
      )
    await assert.rejects(
      imageOf('image.Composite', { image, images: [], places: [{}] }),
      failsAs('bad_input', /more places/),
    )
    await assert.rejects(
      imageOf('image.Composite', { image, images: [Buffer.from('no')] }),
      failsAs('unsupported', /no image/),
    )
    const large = await sharp({ create: { width: 8_000, height: 8_000, channels: 3, background: '#000' } })
      .png()
      .toBuffer()
    await assert.rejects(imageOf('image.Composite', { image, images: [large] }), failsAs('too_large', /together/))
  })
})

describe('image.DrawText', () => {
  const ink = async (inputs: Record<string, unknown>) => {
    const made = await imageOf('image.DrawText', { image: await plain(200, 100, '#ffffff'), ...inputs })
    const rows = (await pixels(made)).map((row) => row.map((pixel) => pixel !== 'ffffffff'))
    const columns = rows[0]!.map((_, x) => rows.some((row) => row[x]))
    const lines = rows.map((row) => row.some(Boolean))
    const box = [columns.indexOf(true), lines.indexOf(true), columns.lastIndexOf(true), lines.lastIndexOf(true)]
    return { box, count: rows.flat().filter(Boolean).length, made }
  }

  test('draws the text at its position', async () => {
    const {
      box: [left, top, right, bottom],
    } = await ink({ text: 'Text', gravity: 'top_left', margin: 5, size: 20 })
    assert.ok(
      left! >= 5 && left! <= 7 && top! >= 4 && top! <= 12 && right! > 35 && right! < 60 && bottom! < 35,
      `${left} ${top} ${right} ${bottom}`,
    )
    const low = await ink({ text: 'Text', gravity: 'bottom_right', margin: 5, size: 20 })
    assert.ok(low.box[2]! >= 192 && low.box[2]! <= 195 && low.box[3]! >= 85, low.box.join())
    const own = await ink({ text: 'Text', left: 190, top: -8, size: 20 })
    assert.ok(own.box[0]! >= 190 && own.box[2]! <= 199, own.box.join())
  })

  test('draws the text in its colour, and bold text covers more', async () => {
    const bar = { text: '█', size: 40, gravity: 'center' }
    const [rows, half] = [await ink({ ...bar, colour: '#ff0000' }), await ink({ ...bar, colour: 'rgba(255,0,0,0.5)' })]
    assert.equal((await pixels(rows.made))[50]![100], R)
    assert.match((await pixels(half.made))[50]![100]!, /^ff(7f|80)\1ff$/)
    assert.ok((await ink({ text: 'mm', bold: true })).count > (await ink({ text: 'mm' })).count * 1.1)
    assert.notEqual((await ink({ text: 'ii', font: 'mono' })).box[0], (await ink({ text: 'ii' })).box[0])
  })

  test('does not interpret the text as markup', async () => {
    const marked = await ink({ text: '<b>a</b>', size: 20, gravity: 'left' })
    const word = await ink({ text: 'a', size: 20, gravity: 'left' })
    assert.ok(marked.box[2]! - marked.box[0]! > 4 * (word.box[2]! - word.box[0]!), marked.box.join())
    for (const text of ['&amp; &#0; </span>', '<span size="9999999">x', '\u0000\u0001\ud800 "\'', '\u202e right'])
      assert.ok((await ink({ text, size: 12 })).count > 0, text)
    assert.equal((await ink({ text: ' \n' })).count, 0)
  })

  test('wraps long lines, and refuses text that never fits', async () => {
    const broken = await ink({ text: 'x'.repeat(40), size: 20, gravity: 'top' })
    assert.ok(broken.box[3]! - broken.box[1]! > 40, broken.box.join())
    const image = await plain(200, 100, '#ffffff')
    await assert.rejects(
      imageOf('image.DrawText', { image, text: 'x\n'.repeat(5_000) }),
      failsAs('too_large', /too long/),
    )
    await assert.rejects(
      imageOf('image.DrawText', { image, text: 'x'.repeat(10_001), size: 4 }),
      failsAs('too_large', /10,000/),
    )
    await assert.rejects(imageOf('image.DrawText', { image, text: 'x', margin: 100 }), failsAs('bad_input', /no room/))
    await assert.rejects(
      imageOf('image.DrawText', { image, text: 'x', colour: 'no colour' }),
      failsAs('bad_input', /"no colour"/),
    )
  })
})

describe('image.ContactSheet', () => {
  test('puts pictures in a grid, each in the middle of its cell, names below', async () => {
    const images = [
      { data: await plain(40, 20, '#ff0000'), name: 'red.png' },
      { data: await plain(10, 10, '#00ff00'), name: '<i>&.png' },
      { data: await plain(20, 60, '#0000ff'), name: 'blue.png' },
    ]
    const made = await imageOf('image.ContactSheet', { images, columns: 2, size: 20, gap: 5, text_size: 10 })
    // Two cells of 20 and three gaps of 5 across; two rows of 20 and 15 for names.
    assert.deepEqual([made.width, made.height, made.name], [55, 85, 'contact-sheet.png'])
    const rows = await pixels(made)
    assert.deepEqual([rows[15]![5], rows[15]![24], rows[9]![15], rows[20]![15]], [R, R, 'ffffffff', 'ffffffff'])
    assert.deepEqual([rows[10]![35], rows[19]![44], rows[9]![35], rows[20]![44]], [G, G, 'ffffffff', 'ffffffff'])
    const tall = rows.flatMap((row, y) => (row[15] === B ? [y] : []))
    assert.deepEqual([tall[0], tall.at(-1)], [45, 64])
    const named = rows
      .slice(26, 40)
      .flat()
      .filter((pixel) => pixel !== 'ffffffff')
    assert.ok(named.length > 10)
    const bare = await imageOf('image.ContactSheet', { images, names: [], columns: 2, size: 20, gap: 5 })
    assert.deepEqual([bare.width, bare.height], [55, 55])
  })

  test('refuses none, and too many', async () => {
    const image = await plain(1, 1, '#fff')
    await assert.rejects(imageOf('image.ContactSheet', { images: [] }), failsAs('bad_input', /no images/))
    await assert.rejects(
      imageOf('image.ContactSheet', { images: new Array(101).fill(image) }),
      failsAs('too_large', /100 files/),
    )
    await assert.rejects(
      imageOf('image.ContactSheet', { images: new Array(100).fill(image), columns: 1, size: 1_000 }),
      failsAs('too_large', /longer/),
    )
  })
})

describe('edges', () => {
  test('image.Trim cuts off edges like the first pixel, and image.Pad adds them again', async () => {
    const padded = await imageOf('image.Pad', {
      image: await plain(2, 1, '#ff0000'),
      left: 1,
      top: 2,
      bottom: 1,
      background: '#fefefe',
    })
    const W = 'fefefeff'
    assert.deepEqual(await pixels(padded), [
      [W, W, W],
      [W, W, W],
      [W, R, R],
      [W, W, W],
    ])
    assert.deepEqual(await pixels(await imageOf('image.Trim', { image: padded })), [[R, R]])
    const clear = await imageOf('image.Pad', {
      image: await sharp(await plain(1, 1, '#f00'))
        .removeAlpha()
        .png()
        .toBuffer(),
      right: 1,
    })
    assert.deepEqual(await pixels(clear), [[R, '00000000']])
    await assert.rejects(
      imageOf('image.Trim', { image: await plain(3, 3, '#fff') }),
      failsAs('bad_input', /one colour/),
    )
    await assert.rejects(imageOf('image.Pad', { image: padded, left: 16_384 }), failsAs('too_large', /16,384/))
  })
})

describe('facts', () => {
  const shot = async () =>
    sharp(await plain(6, 4, '#336699'))
      .removeAlpha()
      .withMetadata({
        orientation: 6,
        density: 300,
        exif: {
          IFD0: { Make: 'Maker', Model: 'M 1', Artist: 'Ada', Software: 'x'.repeat(2_000) },
          IFD2: {
            ExposureTime: '1/50',
            FNumber: '28/10',
            ISOSpeedRatings: '200',
            DateTimeOriginal: '2026:01:31 12:00:00',
          },
          IFD3: { GPSLatitudeRef: 'N', GPSLatitude: '51/1 30/1 3230/100', GPSAltitude: '10/1' },
        },
      })
      .jpeg()
      .toBuffer()

  test('image.Metadata gives camera metadata without the location', async () => {
    const { metadata, ...facts } = await nodes.fire('image.Metadata', { image: await shot() })
    assert.deepEqual(facts, { width: 4, height: 6, format: 'jpeg', has_alpha: false })
    const { exif, ...more } = metadata as Record<string, unknown> & { exif: Record<string, unknown> }
    assert.equal(more.orientation, 6)
    assert.equal(more.density, 300)
    assert.equal(more.content_type, 'image/jpeg')
    const { make, model, artist, exposure_seconds, f_number, iso, taken_at, software } = exif
    assert.deepEqual(
      { make, model, artist, exposure_seconds, f_number, iso, taken_at },
      {
        make: 'Maker',
        model: 'M 1',
        artist: 'Ada',
        exposure_seconds: 0.02,
        f_number: 2.8,
        iso: 200,
        taken_at: '2026:01:31 12:00:00',
      },
    )
    assert.equal((software as string).length, 1_000)
    assert.ok(!/gps|latitude|altitude/i.test(JSON.stringify(metadata)))
  })

  test('image.Metadata survives false values in a damaged block', async () => {
    const image = await shot()
    const begin = image.indexOf('Exif\0\0') + 14
    for (const byte of [0x00, 0x7f, 0xff])
      for (let at = begin; at < begin + 60; at += 5) {
        const damaged = Buffer.from(image)
        damaged.fill(byte, at, at + 4)
        const { width } = await nodes.fire('image.Metadata', { image: damaged })
        assert.ok(width === 4 || width === 6)
      }
  })

  test('image.Histogram counts levels', async () => {
    const image = await imageOf('image.Composite', {
      image: await plain(3, 1, '#ff0000'),
      images: [await plain(1, 1, '#000080')],
    })
    const found = await nodes.fire('image.Histogram', { image })
    const filled = Object.fromEntries(
      Object.entries(found).map(([name, levels]) => [
        name,
        typeof levels === 'number'
          ? levels
          : Object.fromEntries((levels as number[]).flatMap((count, at) => (count > 0 ? [[at, count]] : []))),
      ]),
    )
    assert.deepEqual(filled, {
      red: { 0: 1, 255: 2 },
      green: { 0: 3 },
      blue: { 0: 2, 128: 1 },
      alpha: { 255: 3 },
      luminance: { 9: 1, 54: 2 },
      pixels: 3,
    })
    assert.equal((found.red as number[]).length, 256)
  })

  test('image.Load gives the bytes unchanged, with their size and format', async () => {
    const data = await shot()
    const { image, ...facts } = await nodes.fire('image.Load', {
      image: { data, name: 'shot.jpg', content_type: 'text/html' },
    })
    assert.deepEqual(facts, { width: 4, height: 6, format: 'jpeg', name: 'shot.jpg' })
    const loaded = image as Picture
    assert.deepEqual(
      [loaded.content_type, loaded.width, loaded.height, Buffer.from(loaded.data).equals(data)],
      ['image/jpeg', 4, 6, true],
    )
    await assert.rejects(nodes.fire('image.Load', { image: Buffer.from('<html>') }), failsAs('unsupported', /no image/))
    for (const part of [0.2, 0.6, 0.95])
      await assert.rejects(
        nodes.fire('image.Histogram', { image: data.subarray(0, Math.floor(data.length * part)) }),
        failsAs(/^(?:bad_file|unsupported)$/, /image/),
      )
    await nodes.fire('image.Histogram', { image: data })
  })
})
