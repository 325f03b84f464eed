/** One of the two generations of the interface writes ids without hyphens; the page always with. */
export const withHyphens = (hex: string): string => hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
