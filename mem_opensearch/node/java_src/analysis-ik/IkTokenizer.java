/*
 * Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
 * the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0
 */
package org.memopensearch.ik;

import java.io.CharArrayReader;
import java.io.IOException;
import java.io.Reader;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.lucene.analysis.Tokenizer;
import org.apache.lucene.analysis.tokenattributes.CharTermAttribute;
import org.apache.lucene.analysis.tokenattributes.OffsetAttribute;
import org.apache.lucene.analysis.tokenattributes.TypeAttribute;
import org.wltea.analyzer.core.IKSegmenter;
import org.wltea.analyzer.core.Lexeme;

/**
 * Feeds a text of any length to the IK segmenter, piece by piece.
 *
 * <p>IKSegmenter has a buffer of 4,096 characters; where it fills it again, it reads the character at the seam twice or
 * loses the last one. So it never sees more than PIECE characters at once, and a piece ends where no word is cut.
 */
final class IkTokenizer extends Tokenizer {
    private static final int PIECE = 4000;
    /** Words that begin so close to the end of a piece may be cut by it: they are left to the next piece. */
    private static final int MARGIN = 64;

    private final CharTermAttribute term = addAttribute(CharTermAttribute.class);
    private final OffsetAttribute offset = addAttribute(OffsetAttribute.class);
    private final TypeAttribute type = addAttribute(TypeAttribute.class);
    private final IKSegmenter segmenter;
    private final ArrayDeque<Lexeme> ready = new ArrayDeque<>();
    private char[] text = new char[0];
    private int length;
    private int done; // characters before this place are segmented
    private int base; // where the piece that `ready` belongs to begins

    IkTokenizer(boolean smart) {
        segmenter = new IKSegmenter(new CharArrayReader(text), IkWords.configuration(smart));
    }

    @Override
    public void reset() throws IOException {
        super.reset();
        ready.clear();
        done = 0;
        base = 0;
        length = readAll(input);
    }

    @Override
    public boolean incrementToken() throws IOException {
        clearAttributes();
        while (ready.isEmpty()) {
            if (done >= length) {
                return false;
            }
            segmentPiece();
        }
        Lexeme lexeme = ready.poll();
        term.append(lexeme.getLexemeText());
        offset.setOffset(
                correctOffset(base + lexeme.getBeginPosition()), correctOffset(base + lexeme.getEndPosition()));
        type.setType(lexeme.getLexemeTypeString());
        return true;
    }

    @Override
    public void end() throws IOException {
        super.end();
        int last = correctOffset(length);
        offset.setOffset(last, last);
    }

    private int readAll(Reader reader) throws IOException {
        int used = 0;
        while (true) {
            if (used == text.length) {
                text = Arrays.copyOf(text, Math.max(1024, 2 * text.length));
            }
            int read = reader.read(text, used, text.length - used);
            if (read < 0) {
                return used;
            }
            used += read;
        }
    }

    private void segmentPiece() throws IOException {
        base = done;
        int size = Math.min(PIECE, length - base);
        boolean last = base + size == length;
        if (!last && Character.isHighSurrogate(text[base + size - 1])) {
            size--;
        }
        segmenter.reset(new CharArrayReader(text, base, size));
        List<Lexeme> found = new ArrayList<>();
        for (Lexeme lexeme = segmenter.next(); lexeme != null; lexeme = segmenter.next()) {
            found.add(lexeme);
        }
        int cut = last ? size : chooseCut(found, size);
        for (Lexeme lexeme : found) {
            if (lexeme.getEndPosition() <= cut) {
                ready.add(lexeme);
            }
        }
        done = base + cut;
    }

    /** The last place well before the end that no word spans: after a mark if there is one, else between two words. */
    private int chooseCut(List<Lexeme> found, int size) {
        boolean[] spanned = new boolean[size + 1];
        for (Lexeme lexeme : found) {
            Arrays.fill(spanned, lexeme.getBeginPosition() + 1, lexeme.getEndPosition(), true);
        }
        for (int place = size - MARGIN; place > size / 2; place--) {
            char before = text[base + place - 1];
            if (!spanned[place] && !Character.isLetterOrDigit(before) && !Character.isSurrogate(before)) {
                return place;
            }
        }
        for (int place = size - MARGIN; place > 0; place--) {
            if (!spanned[place] && !insideRun(base + place)) {
                return place;
            }
        }
        return size;
    }

    /** Whether the place lies in a run of Latin letters and digits (a stop word leaves no lexeme) or in a surrogate pair. */
    private boolean insideRun(int place) {
        char before = text[place - 1];
        char after = text[place];
        boolean pair = Character.isHighSurrogate(before);
        return pair || before < 128 && after < 128 && Character.isLetterOrDigit(before) && Character.isLetterOrDigit(after);
    }
}
