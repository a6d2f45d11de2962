// Estimates the length of values as JSON.

/** Whether a value's JSON surely has more than `most` characters. Visits no more than so many values, however large the value is. */
export function isLongerAsJson(value: unknown, most: number): boolean {
  const left = [value]
  for (let length = 0; left.length > 0; ) {
    const one = left.pop()
    if (typeof one === 'string') length += one.length + 2
    else if (typeof one !== 'object' || one === null) length += 1
    else if (ArrayBuffer.isView(one)) length += one.byteLength
    else {
      const children = Array.isArray(one) ? one : Object.values(one)
      if (children !== one) for (const key in one) length += key.length + 3
      // The brackets, and one comma less than there are children.
      length += 1 + Math.max(1, children.length)
      if (length <= most) for (const child of children) left.push(child)
    }
    if (length > most) return true
  }
  return false
}
