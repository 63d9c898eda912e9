// Unpacks the page's program, of which the policy holds the hash, and runs it.

const packed = Uint8Array.from(atob(document.getElementById('program').textContent), (letter) => letter.charCodeAt(0));
const unpacked = async () =>
  new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream('deflate'))).text();
unpacked().then(
  (text) => {
    const program = document.createElement('script');
    program.textContent = text;
    document.body.append(program);
    program.remove(); // a page that is saved by its browser runs it once
  },
  (error) => {
    document.querySelector('.loading').textContent =
      `This report could not be opened: ${error.message}. It needs a browser of 2023 or later.`;
  },
);
