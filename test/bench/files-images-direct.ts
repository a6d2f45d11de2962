// Calls the image library directly, in a separate process. It reads an image from a file, resizes it, converts it and writes it to the
// disk, as often as the arguments say. It prints the milliseconds of each round.
import { open, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import sharp from 'sharp'

const [source = '', folder = '', width = '', count = '', at_once = ''] = process.argv.slice(2)

async function once(name: string): Promise<void> {
  const bytes = await sharp(await readFile(source))
    .resize({ width: Number(width) })
    .webp()
    .toBuffer()
  await using file = await open(join(folder, name), 'w')
  await file.writeFile(bytes)
  await file.sync()
}

await once('first')
const from = performance.now()
let next = 0
const worker = async () => {
  while (next < Number(count)) await once(`${next++}`)
}
await Promise.all(Array.from({ length: Number(at_once) }, worker))
console.log((performance.now() - from) / Number(count))
