// This module sends the files of one recording in pieces, each from the offset that the server names. It does not use the DOM.

import { ApiError, request } from "../state/api.js";
import { patiently, put } from "./pieces.js";

const LEAST = 256 * 1024, MOST = 8 * 1024 * 1024; // the least and the most bytes of a piece
const WISHED = 2; // seconds that sending one piece should take, by which its size is chosen
const AT_ONCE = 3; // how many files are sent at the same time

export class Sending {
  #stop = new AbortController();
  #pieceBytes = 1024 * 1024;
  #going = new Map(); // number of a file → how many of its bytes were sent
  #began = 0;
  #before = 0; // bytes that had arrived before sending began

  /** `files` are {name, file}. `on` has the callbacks upload(payload), progress({sent, total, seconds}) and pause(seconds). */
  constructor({ name, files, cluster, csrf, on }) {
    Object.assign(this, { name, files, cluster, csrf, on });
    this.total = files.reduce((sum, { file }) => sum + file.size, 0);
  }

  get #patience() {
    return { signal: this.#stop.signal, onPause: (seconds) => this.on.pause(seconds) };
  }

  /** Sends everything, and resolves with the upload, which then waits to be imported. With `interrupted`, it continues that upload. Rejects with an ApiError. */
  async run(interrupted = null) {
    const upload = interrupted ?? (await patiently(() => this.#announce(), this.#patience));
    this.id = upload.id;
    this.on.upload(upload);
    const open = upload.parts.map((part, number) => ({ ...part, number })).filter((part) => !part.refused);
    for (const part of open) this.#going.set(part.number, part.received);
    this.#before = this.#sent;
    this.#began = performance.now();
    this.#reportProgress();
    const queue = open.filter((part) => part.received < part.size);
    let refusal = null;
    const work = async () => {
      for (let part = queue.shift(); part; part = queue.shift()) {
        try {
          await this.#file(part);
        } catch (error) {
          if (error.status !== 400 || this.files.length === 1) throw error;
          refusal = error; // the other files are still sent
          this.#going.set(part.number, part.size);
        }
      }
    };
    try {
      await Promise.all(Array.from({ length: AT_ONCE }, work));
    } catch (error) {
      queue.length = 0;
      throw error;
    }
    try {
      return await patiently(() => this.#post(`/api/uploads/${this.id}/finish`), this.#patience);
    } catch (error) {
      throw error.status === 409 && refusal ? refusal : error;
    }
  }

  async cancel() {
    this.#stop.abort();
    if (this.id) await this.#post(`/api/uploads/${this.id}/cancel`);
  }

  get #sent() {
    return [...this.#going.values()].reduce((sum, out) => sum + out, 0);
  }

  #post(path, options = {}) {
    return request(path, { method: "POST", ...options, headers: { ...this.csrf, Accept: "application/json", ...options.headers } });
  }

  #announce() {
    const files = this.files.map(({ name, file }) => ({ name, size: file.size }));
    return this.#post("/api/uploads", { headers: { "Content-Type": "application/json" }, body: JSON.stringify({ name: this.name, files, cluster: this.cluster }) });
  }

  async #file({ number, received, size }) {
    const { file } = this.files[number];
    for (let offset = received; offset < size; ) {
      offset = await patiently(() => this.#piece(file, number, offset), {
        signal: this.#stop.signal,
        onPause: (seconds) => {
          this.#pieceBytes = LEAST;
          this.#going.set(number, offset);
          this.on.pause(seconds);
        },
      });
      this.#going.set(number, offset);
      this.#reportProgress();
    }
  }

  /** Sends a piece and returns the next offset: after the piece, or where the server says. */
  async #piece(file, number, offset) {
    const piece = file.slice(offset, offset + this.#pieceBytes);
    const began = performance.now();
    try {
      const { received } = await put(`/api/uploads/${this.id}/files/${number}`, offset, piece, {
        csrf: this.csrf,
        signal: this.#stop.signal,
        onProgress: (out) => {
          this.#going.set(number, offset + Math.min(out, piece.size));
          this.#reportProgress();
        },
      });
      const perSecond = piece.size / Math.max(0.001, (performance.now() - began) / 1000);
      this.#pieceBytes = Math.max(LEAST, Math.min(MOST, 2 * this.#pieceBytes, perSecond * WISHED));
      return received;
    } catch (error) {
      if (error.status === 409 && Number.isInteger(error.received)) return error.received;
      if (error.status === 0 && !(await readable(piece))) throw new ApiError(`${file.name} can no longer be read`, "It was changed or removed while it was being sent.", 1);
      throw error;
    }
  }

  #reportProgress() {
    const sent = this.#sent;
    const perMs = (sent - this.#before) / Math.max(1, performance.now() - this.#began);
    this.on.progress({ sent, total: this.total, seconds: (this.total - sent) / perMs / 1000 });
  }
}

const readable = (piece) => piece.slice(0, 1).arrayBuffer().then(() => true, () => false);
